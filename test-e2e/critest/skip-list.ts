import { readFile } from 'node:fs/promises';

/** Why a spec need not pass; the head of the file `skips` says what each means. */
export const SKIP_REASONS = ['benchmark', 'nri', 'apparmor', 'digest'] as const;

export type SkipReason = (typeof SKIP_REASONS)[number];

/** Reasons by the specs' full names. */
export type SkipList = ReadonlyMap<string, SkipReason>;

/**
 * Parses a skip list: a reason and a spec's name a line; empty lines and lines that begin with `#` are for readers.
 * Throws on a reason that is not allowed, and on a spec named twice.
 */
export function parseSkipList(text: string): SkipList {
  const skips = new Map<string, SkipReason>();
  for (const line of text.split('\n').map((line) => line.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, word, name = ''] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
    const reason = SKIP_REASONS.find((allowed) => allowed === word);
    if (reason === undefined) throw new Error(`not a reason to skip a spec: ${JSON.stringify(line)}; there are ${SKIP_REASONS.join(', ')}`);
    if (skips.has(name)) throw new Error(`named twice: ${name}`);
    skips.set(name, reason);
  }
  return skips;
}

export async function readSkipList(file: string): Promise<SkipList> {
  return parseSkipList(await readFile(file, 'utf8'));
}
