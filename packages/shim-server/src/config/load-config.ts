import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { camelKeys, isTable } from './camel-case.js';
import { ConfigError, type ConfigProblem } from './config-error.js';
import { problemsOf } from './problems.js';
import { configSchema, type CriquetConfig } from './schema.js';

/** The configuration file of a node; it may be absent. */
export const DEFAULT_CONFIG_PATH = '/etc/criquet/config.toml';

/** A value that a command-line flag sets over the files. */
export interface ConfigOverride {
  /** The flag as the user wrote it (`--listen`), for error messages. */
  readonly flag: string;
  /** The key as it stands in the file, `containerd.address`. */
  readonly key: string;
  readonly value: unknown;
}

export interface LoadConfigOptions {
  /** A file that must exist. Default: {@link DEFAULT_CONFIG_PATH}, which may be absent. */
  readonly path?: string;
  readonly overrides?: readonly ConfigOverride[];
}

/** A configuration and where it came from. */
export interface LoadedConfig {
  readonly config: CriquetConfig;
  /** The files that were read, in the order in which they count; the last wins. */
  readonly files: readonly string[];
  /** The file or flag that a key or table, by its path, has its value from, the last of several; "configuration" for a default. */
  readonly sourceOf: (path: readonly string[]) => string;
}

type Table = Record<string, unknown>;

interface Layer {
  readonly source: string;
  readonly content: Table;
  /** Why there is no content; kept until all layers were checked. */
  readonly problem?: string;
}

/**
 * Reads the configuration: defaults, then the file, then its drop-ins in lexical order (`*.toml` in the directory beside it that
 * is named after it with `.d`: `/etc/criquet/config.d` for `/etc/criquet/config.toml`), then flags. Tables are merged, everything
 * else replaces what an earlier layer says.
 *
 * @throws ConfigError naming file or flag, key and what is allowed: all problems at once.
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const path = options.path ?? DEFAULT_CONFIG_PATH;
  const files = await readLayers(path, options.path !== undefined);
  const flags = (options.overrides ?? []).map((override) => ({ source: override.flag, content: nested(override) }));
  const layers = [...files, ...flags];
  return { config: merge(layers), files: files.map((layer) => layer.source), sourceOf: (path) => sourceIn(layers, path) };
}

/** The configuration of a node that has no file. */
export function defaultConfig(): CriquetConfig {
  return merge([]);
}

async function readLayers(path: string, required: boolean): Promise<Layer[]> {
  const main = await readLayer(path, required);
  const dropInDir = join(dirname(path), `${basename(path, extname(path))}.d`);
  const layers = [main, ...(await readDropIns(dropInDir))];
  return layers.filter((layer) => layer !== undefined);
}

async function readDropIns(dir: string): Promise<(Layer | undefined)[]> {
  try {
    const names = (await readdir(dir)).filter((name) => name.endsWith('.toml') && !name.startsWith('.')).sort();
    return await Promise.all(names.map((name) => readLayer(join(dir, name), true)));
  } catch (error) {
    return isMissing(error) ? [] : [unusable(dir, `cannot be read: ${messageOf(error)}`)];
  }
}

async function readLayer(path: string, required: boolean): Promise<Layer | undefined> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return required ? unusable(path, 'there is no such file') : undefined;
    return unusable(path, `cannot be read: ${messageOf(error)}`);
  }
  try {
    return { source: path, content: parse(content) };
  } catch (error) {
    const at = error instanceof TomlError ? `line ${error.line}, column ${error.column}: ` : '';
    return unusable(path, `${at}${messageOf(error).split('\n')[0] ?? ''}`);
  }
}

function unusable(source: string, problem: string): Layer {
  return { source, content: {}, problem };
}

/** Checks every layer by itself, so that a problem names the layer it stands in, then the whole. */
function merge(layers: readonly Layer[]): CriquetConfig {
  const problems: ConfigProblem[] = [];
  const base: Table = { runtime: { handlers: { runc: {} } } };
  let merged = base;
  for (const { source, content, problem } of layers) {
    if (problem !== undefined) problems.push({ source, message: problem });
    const checked = configSchema.safeParse(content);
    if (checked.success) merged = overlay(merged, content);
    else problems.push(...problemsOf(checked.error.issues, content, source));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const config = camelKeys(configSchema, configSchema.parse(merged)) as CriquetConfig;
  checkDefaultHandler(config, layers);
  return { ...config, cni: { ...config.cni, netnsDir: config.cni.netnsDir || join(config.stateDir, 'netns') } };
}

function overlay(under: Table, over: Table): Table {
  const result = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = result[name];
    result[name] = isTable(value) && isTable(below) ? overlay(below, value) : value;
  }
  return result;
}

function checkDefaultHandler(config: CriquetConfig, layers: readonly Layer[]): void {
  const { defaultHandler, handlers } = config.runtime;
  if (Object.hasOwn(handlers, defaultHandler)) return;
  const message = `there is no handler ${JSON.stringify(defaultHandler)}; handlers: ${Object.keys(handlers).join(', ')}`;
  throw new ConfigError([{ source: sourceIn(layers, ['runtime', 'default_handler']), key: 'runtime.default_handler', message }]);
}

function sourceIn(layers: readonly Layer[], path: readonly string[]): string {
  const says = ({ content }: Layer) => path.reduce<unknown>((value, name) => (isTable(value) ? value[name] : undefined), content) !== undefined;
  return layers.findLast(says)?.source ?? 'configuration';
}

function nested(override: ConfigOverride): Table {
  return override.key.split('.').reduceRight<unknown>((value, name) => ({ [name]: value }), override.value) as Table;
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
