import type { SuiteName } from './suite.js';

/** Why specs differ between the runtimes, or pass on neither. */
export interface Explanation {
  readonly suites: readonly SuiteName[];
  readonly reason: string;
  /** Parts of their names. */
  readonly specs: readonly string[];
}

export const EXPLANATIONS: readonly Explanation[] = [];

/** Why a spec of a suite has not the outcome `passed` on both; undefined when nobody has said. */
export function explanationOf(suite: SuiteName, spec: string): string | undefined {
  return EXPLANATIONS.find(({ suites, specs }) => suites.includes(suite) && specs.some((part) => spec.includes(part)))?.reason;
}
