import type { Parameters } from 'fast-check';

/** A run in CI: small, and the same every time. `scripts/fuzz` sets more and another beginning. */
export const REQUESTS_IN_CI = 1_600;
const DEFAULT_SEED = 20_260;

const numberFrom = (name: string, fallback: number): number => {
  const text = process.env[name];
  if (text === undefined || text === '') return fallback;
  if (!/^\d+$/.test(text)) throw new Error(`${name}: ${text} is no whole number`);
  return Number(text);
};

/** CRI requests in all. */
export const REQUESTS = numberFrom('CRIQUET_FUZZ_REQUESTS', REQUESTS_IN_CI);
export const SEED = numberFrom('CRIQUET_FUZZ_SEED', DEFAULT_SEED);

/** For `fc.assert`: so many runs in CI, and as many more as there are more requests than in CI. */
export function fuzzing<T>(runsInCi: number): Parameters<T> {
  const numRuns = Math.max(1, Math.round((runsInCi * REQUESTS) / REQUESTS_IN_CI));
  return { seed: SEED, numRuns, endOnFailure: process.env.CRIQUET_FUZZ_SHRINK !== '1' };
}
