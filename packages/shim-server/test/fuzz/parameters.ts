import type { Parameters } from 'fast-check';

/** A run in CI: small, and the same every time. `scripts/fuzz` sets more and another beginning. */
export const REQUESTS_IN_CI = 800;
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

/** Beside the requests: what took seconds in CI takes minutes then. */
const MOST_TIMES = 10;

/** For `fc.assert` of the requests: as many as there are to be. */
export function fuzzingRequests<T>(inOneRun: number): Parameters<T> {
  return parameters(REQUESTS / inOneRun);
}

/** For `fc.assert` of anything else: so many runs in CI, and up to ten times as many where there are more requests than in CI. */
export function fuzzing<T>(runsInCi: number): Parameters<T> {
  return parameters(runsInCi * Math.min(MOST_TIMES, REQUESTS / REQUESTS_IN_CI));
}

function parameters<T>(runs: number): Parameters<T> {
  return { seed: SEED, numRuns: Math.max(1, Math.round(runs)), endOnFailure: process.env.CRIQUET_FUZZ_SHRINK !== '1' };
}
