import { readFile } from 'node:fs/promises';
import type { SpecResult } from './junit.js';

/** Reads a list of spec names: one a line; empty lines and lines that begin with `# ` are for readers. */
export async function readSpecList(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('# ') && line !== '#');
}

/**
 * A regular expression (Go's and JavaScript's alike) that matches exactly the listed names; ginkgo puts the suite's
 * description before a name.
 */
export function focusOn(names: readonly string[]): string {
  return `^(?:CRI validation )?(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
}

/** How a listed spec came out; `missing` when the report does not have it. */
export interface ListedResult {
  readonly name: string;
  readonly outcome: SpecResult['outcome'] | 'missing';
  readonly seconds: number;
  readonly message: string;
}

/** Looks up each listed spec in a report, by its name. */
export function listedResults(names: readonly string[], results: readonly SpecResult[]): ListedResult[] {
  const byName = new Map(results.map((result) => [result.name, result]));
  return names.map((name) => byName.get(name) ?? { name, outcome: 'missing', seconds: 0, message: '' });
}
