import { flatten } from './flatten.js';
import type { Side } from './side.js';

/** A difference that is meant. */
export interface KnownDifference {
  /** The command as {@link Comparison} is given it, or several. */
  readonly commands: readonly string[];
  /** Paths, or a table's column. */
  readonly at: RegExp;
  readonly why: string;
  /** Not on every machine or containerd, so that its absence is no fault. */
  readonly sometimes?: boolean;
}

export interface Difference {
  readonly command: string;
  readonly at: string;
  readonly criquet: string;
  readonly containerd: string;
}

export interface JsonOptions {
  /** Numbers at these paths are measured: they agree when both are small, or one is at most ten times the other. */
  readonly figures?: RegExp;
  /** At these paths an empty value (`""`, 0, false, null, `[]`, `{}`) says the same as none: Go's `omitempty`. */
  readonly omitEmpty?: RegExp;
}

/** Below this a measured number is small: a megabyte, a millisecond, a thousandth of a core. */
const SMALL = 2_000_000;

/** Compares what crictl prints for two runtimes, and keeps account of the differences. */
export class Comparison {
  readonly differences: Difference[] = [];
  private readonly used = new Set<KnownDifference>();

  constructor(
    private readonly criquet: Side,
    private readonly containerd: Side,
    private readonly known: readonly KnownDifference[],
  ) {}

  /** Texts must be the same but for times and private words. */
  text(command: string, criquet: string, containerd: string): void {
    this.leaf(command, 'text', this.criquet.normalise(criquet), this.containerd.normalise(containerd));
  }

  /** Tables: the same columns, and in each row the same cells. Cells that begin with a digit are figures in `figures`' columns. */
  table(command: string, criquet: string, containerd: string, figures: readonly string[] = []): void {
    const [own, theirs] = [parseTable(this.criquet.normalise(criquet)), parseTable(this.containerd.normalise(containerd))];
    this.leaf(command, 'columns', own.columns.join(' | '), theirs.columns.join(' | '));
    this.leaf(command, 'rows', String(own.rows.length), String(theirs.rows.length));
    own.rows.forEach((row, index) => {
      row.forEach((cell, column) => {
        const name = own.columns[column] ?? String(column);
        const other = theirs.rows[index]?.[column] ?? '<none>';
        const measured = figures.includes(name) && /^\d/.test(cell) && /^\d/.test(other);
        if (!measured) this.leaf(command, name, cell, other);
      });
    });
  }

  json(command: string, criquet: unknown, containerd: unknown, { figures, omitEmpty }: JsonOptions = {}): void {
    const [own, theirs] = [this.leaves(this.criquet, criquet), this.leaves(this.containerd, containerd)];
    for (const path of new Set([...own.keys(), ...theirs.keys()])) {
      const [a, b] = [own.get(path), theirs.get(path)];
      if (omitEmpty?.test(path) === true && isEmpty(a) && isEmpty(b)) continue;
      if (figures?.test(path) === true && a !== undefined && b !== undefined && similar(Number(a), Number(b))) continue;
      this.leaf(command, path, a ?? '<none>', b ?? '<none>');
    }
  }

  /** Known differences that did not occur: the list must be true. */
  unused(): KnownDifference[] {
    return this.known.filter((difference) => !this.used.has(difference) && difference.sometimes !== true);
  }

  private leaves(side: Side, value: unknown): Map<string, string> {
    const flat = flatten(value, (key) => side.normalise(key));
    return new Map([...flat].map(([path, leaf]) => [path, side.normalise(String(leaf))]));
  }

  private leaf(command: string, at: string, criquet: string, containerd: string): void {
    if (criquet === containerd) return;
    const known = this.known.filter((difference) => difference.commands.includes(command) && difference.at.test(at));
    for (const difference of known) this.used.add(difference);
    if (known.length === 0) this.differences.push({ command, at, criquet, containerd });
  }
}

function isEmpty(value: string | undefined): boolean {
  return value === undefined || ['', '0', 'false', 'null', '[]', '{}'].includes(value);
}

function similar(a: number, b: number): boolean {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  return Math.max(a, b) < SMALL || (Math.min(a, b) > 0 && Math.max(a, b) / Math.min(a, b) <= 10);
}

/** What crictl sends to clear a terminal before a table that it repeats. */
const CLEAR_SCREEN = '\u001b[2J\u001b[H';

/** crictl's tables: columns two or more spaces apart. */
export function parseTable(text: string): { columns: string[]; rows: string[][] } {
  const lines = text.replaceAll(CLEAR_SCREEN, '').split('\n').filter((line) => line.trim() !== '');
  const [columns = [], ...rows] = lines.map((line) => line.trim().split(/\s{2,}/));
  return { columns, rows };
}

/** Lines of `key: value`, as `version` and verbose lists have them. */
export function parseFields(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(\w[\w ]*):\s+(.*)$/gm)].map(([, key = '', value = '']) => [key, value]));
}
