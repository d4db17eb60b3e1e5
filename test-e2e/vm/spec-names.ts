import { readFile } from 'node:fs/promises';
import type { SpecResult } from '../report/junit.js';
import type { Verdict } from '../critest/verdicts.js';

/** Reads spec names, one a line; empty lines and lines that begin with `#` are for readers. */
export async function readSpecNames(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/** A regular expression (Go's and JavaScript's alike) of exactly these names; ginkgo puts the suite's description before a name. */
export function focusOn(names: readonly string[]): string {
  return `^(?:CRI validation )?(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
}

/** Judges a report by names that must have passed: one that skipped itself or is missing has not. */
export function judgeNames(results: readonly SpecResult[], names: readonly string[]): Verdict[] {
  const found = new Map(results.map((result) => [result.name, result]));
  return names.map((name) => {
    const result = found.get(name);
    if (result?.outcome === 'passed') return { name };
    return { name, fault: result === undefined ? 'is not in the report' : `${result.outcome}: ${result.message.trim()}` };
  });
}
