import type { SpecResult } from '../report/junit.js';

/**
 * What became of a spec. `passed again`: it failed, and passed when the failed ones were run once more, with nothing beside
 * them. `skipped`: it skipped itself. `not run`: it was chosen, and the report has no outcome of it. `left out`: see `left-out.ts`.
 */
export const OUTCOMES = ['passed', 'passed again', 'failed', 'skipped', 'not run', 'left out'] as const;

export type Outcome = (typeof OUTCOMES)[number];

export interface SpecOutcome {
  readonly outcome: Outcome;
  /** Why it failed or skipped itself. */
  readonly message: string;
}

/** Outcomes by the specs' names. */
export type Outcomes = ReadonlyMap<string, SpecOutcome>;

/** The outcome of each spec that was to run, by a suite's report. */
export function outcomesOf(specs: readonly string[], report: readonly SpecResult[]): Map<string, SpecOutcome> {
  const results = new Map(report.map((result) => [result.name, result]));
  return new Map(specs.map((name) => [name, outcomeOf(results.get(name))]));
}

/** Puts the outcomes of a second run of specs that had failed over those of the first. */
export function withSecondRun(first: Outcomes, second: Outcomes): Map<string, SpecOutcome> {
  const merged = new Map(first);
  for (const [name, { outcome, message }] of second) {
    if (outcome === 'passed') merged.set(name, { outcome: 'passed again', message: first.get(name)?.message ?? '' });
    else if (outcome !== 'not run') merged.set(name, { outcome, message });
  }
  return merged;
}

/** Whether a spec has shown that it can pass. */
export function hasPassed(outcome: Outcome): boolean {
  return outcome === 'passed' || outcome === 'passed again';
}

function outcomeOf(result: SpecResult | undefined): SpecOutcome {
  if (result === undefined) return { outcome: 'not run', message: '' };
  const { outcome, message } = result;
  // Ginkgo reports specs that it never came to as skipped, with no more to say.
  if (outcome === 'skipped' && ['', 'skipped'].includes(message)) return { outcome: 'not run', message: '' };
  return { outcome, message: message.replace(/^skipped - /, '') };
}
