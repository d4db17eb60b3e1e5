import * as z from 'zod';
import { camel, isTable, unwrap } from './camel-case.js';
import { describeConfig, type ConfigKey } from './describe.js';
import { configSchema, type CriquetConfig } from './schema.js';

const COMMENT_WIDTH = 100;

const HEADING = `# criquet's configuration. Every key stands here as a comment with its default; what is not set keeps it.
# Files in the directory config.d beside this file (*.toml, in lexical order) and flags of \`criquet serve\` override it.
# Durations: "300ms", "30s", "1h30m". Sizes: a number of bytes or "64Mi". \`criquet config check\` checks the files.
`;

/** The default configuration as a commented file: every key with its documentation, each set to its default in a comment. */
export function renderDefaultConfig(): string {
  const sections = describeConfig().map((table) => {
    const path = table.path.map((name) => (name === '*' ? 'runc' : name));
    const header = path.length === 0 ? '' : `\n${comment(table.description)}[${path.join('.')}]\n`;
    return header + table.keys.map(renderKey).join('\n');
  });
  return `${HEADING}\n${sections.filter((section) => section !== '').join('')}`;
}

function renderKey(key: ConfigKey): string {
  const name = key.path.at(-1) ?? '';
  const value = key.default === undefined ? '' : ` ${tomlValue(key.default)}`;
  return `${comment(key.description)}${comment(`Allowed: ${key.allowed}.`)}#${name} =${value}\n`;
}

function comment(text: string): string {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > COMMENT_WIDTH && line !== '#') {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return `${[...lines, line].join('\n')}\n`;
}

/** A complete configuration as a file that, read again, gives the same configuration. */
export function renderConfig(config: CriquetConfig): string {
  return `${renderTable(configSchema, config, [])}\n`.trimStart();
}

function renderTable(type: z.ZodType, value: unknown, path: readonly string[]): string {
  const inner = unwrap(type);
  const names = inner instanceof z.ZodObject ? Object.keys(inner.shape) : Object.keys(value as object);
  const scalars: string[] = [];
  const tables: string[] = [];
  for (const name of names) {
    const child = (value as Record<string, unknown>)[inner instanceof z.ZodObject ? camel(name) : name];
    const childType = (inner instanceof z.ZodObject ? inner.shape[name] : (inner as z.ZodRecord).valueType) as z.ZodType;
    if (child === undefined) continue;
    if (isTable(child)) tables.push(renderTable(childType, child, [...path, name]));
    else scalars.push(`${name} = ${tomlValue(fileForm(childType, child))}`);
  }
  const header = path.length > 0 && scalars.length > 0 ? [`\n[${path.map(tomlKey).join('.')}]`] : [];
  return [...header, ...scalars, ...tables].join('\n');
}

/** A value as a file wants it: durations are text there. Sizes may stand as numbers. */
function fileForm(type: z.ZodType, value: unknown): unknown {
  return type.meta()?.unit === 'ms' ? durationText(Number(value)) : value;
}

/** `250ms`, `10s`, `1m30s`, `1h1.5s`. */
function durationText(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  const parts: [amount: number, unit: string][] = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor((ms % 3_600_000) / 60_000), 'm'],
    [(ms % 60_000) / 1000, 's'],
  ];
  return parts.map(([amount, unit]) => (amount === 0 ? '' : `${amount}${unit}`)).join('');
}

function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  return JSON.stringify(value);
}

function tomlKey(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
}
