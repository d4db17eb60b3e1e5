import type { SpecResult } from '../report/junit.js';
import type { SkipList } from './skip-list.js';

export interface Verdict {
  readonly name: string;
  /** What is wrong; undefined when all is as it must be. */
  readonly fault?: string;
}

/**
 * Judges a report of the whole suite by the skip list, one verdict for each spec of either. Only `passed` counts: a spec that
 * skipped itself fails unless it is listed, and one that is listed must not pass.
 *
 * @param apparmor whether this kernel has AppArmor; then specs that are listed for its lack must pass
 */
export function judge(results: readonly SpecResult[], skips: SkipList, { apparmor }: { apparmor: boolean }): Verdict[] {
  const known = new Set(results.map(({ name }) => name));
  return [
    ...results.map(({ name, outcome, message }): Verdict => {
      const reason = skips.get(name);
      const excused = reason !== undefined && !(reason === 'apparmor' && apparmor);
      if (excused && outcome === 'passed') return { name, fault: `passed, but is listed as one that cannot (${reason})` };
      if (excused || outcome === 'passed') return { name };
      return { name, fault: `${outcome}: ${message.trim()}` };
    }),
    ...[...skips.keys()].filter((name) => !known.has(name)).map((name) => ({ name, fault: 'listed, but critest has no such spec' })),
  ];
}
