import { MOMENTS, type KillPoint } from './places.js';
import type { Aftermath, Batch } from './batch.js';
import type { Scenario } from './scenario.js';

/** How much of the matrix is run. */
export interface Form {
  /** Every place at both moments and with both aftermaths; otherwise each place once, moments and aftermaths taking turns. */
  readonly whole: boolean;
  /** Which moment comes first where they take turns. */
  readonly turn: number;
  /** What seems to happen by chance is the same for the same number. */
  readonly seed: number;
  /** Only places and scenarios whose names contain one of these; empty: all. */
  readonly only: readonly string[];
  /** Calls that die together, at most; 1: each alone. */
  readonly atOnce: number;
}

const AT_ONCE = 10;

/**
 * `CRIQUET_FAULTS=whole` runs everything. To look for a cause: `CRIQUET_FAULTS_ONLY=TEXT,TEXT` and `CRIQUET_FAULTS_AT_ONCE=1`; `CRIQUET_FAULTS_TURN`
 * and `CRIQUET_FAULTS_SEED` repeat what a run printed.
 */
export function readForm(env: NodeJS.ProcessEnv = process.env): Form {
  const now = Math.floor(Date.now() / 1000);
  return {
    whole: env.CRIQUET_FAULTS === 'whole',
    turn: Number(env.CRIQUET_FAULTS_TURN ?? now) % 4,
    seed: Number(env.CRIQUET_FAULTS_SEED ?? now),
    only: (env.CRIQUET_FAULTS_ONLY ?? '').split(',').filter((text) => text !== ''),
    atOnce: Number(env.CRIQUET_FAULTS_AT_ONCE ?? AT_ONCE),
  };
}

const AFTERMATHS: readonly Aftermath[] = ['remove', 'call again'];

/** What dies together, scenario by scenario. */
export function planBatches(scenarios: readonly Scenario[], form: Form): Batch[] {
  return scenarios
    .filter((scenario) => form.whole || form.only.length > 0 || scenario.slow !== true)
    .flatMap((scenario, index) => {
      const chunks = chunked(pointsOf(scenario, form), Math.min(form.atOnce, scenario.atOnce ?? AT_ONCE));
      return chunks.flatMap((points, chunk) => aftermathsOf(form, index + chunk).map((aftermath) => ({ scenario, points, aftermath })));
    });
}

function pointsOf(scenario: Scenario, { whole, turn, only }: Form): KillPoint[] {
  const named = (text: string) => only.length === 0 || only.some((part) => text.includes(part));
  const wanted = named(scenario.name) ? scenario.places : scenario.places.filter(named);
  return wanted.flatMap((place, index) => {
    const moments = whole ? MOMENTS : MOMENTS.filter((_, moment) => moment === (index + turn) % MOMENTS.length);
    return moments.map((moment) => ({ place, moment }));
  });
}

function aftermathsOf({ whole, turn }: Form, index: number): Aftermath[] {
  return whole ? [...AFTERMATHS] : AFTERMATHS.filter((_, aftermath) => aftermath === (index + Math.floor(turn / 2)) % AFTERMATHS.length);
}

function chunked<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, index) => all.filter((_item, place) => place % count === index));
}
