import type { Runtime } from '../harness/node.js';
import type { Scale } from './scale.js';
import type { Side } from './side.js';

export type Unit = 'ms' | 's' | 'µs' | '1/s' | 'MB/s' | 'MB' | '%' | '×';

/** What a figure must reach: criquet's median divided by the plugin's, or criquet's median itself. */
export interface Target {
  readonly of: 'ratio' | 'value';
  readonly bound: 'at most' | 'at least';
  readonly limit: number;
}

/** One line of the table. */
export interface Measure {
  /** Unique among all figures; names its samples. */
  readonly name: string;
  readonly title: string;
  readonly unit: Unit;
  readonly better: 'less' | 'more';
  readonly target?: Target;
  /** Not sampled: the median of one measure divided by that of another. */
  readonly quotient?: readonly [dividend: string, divisor: string];
}

/** What a round gives, by the name of its measure. */
export type Sampled = Readonly<Record<string, number>>;

/**
 * What stands on both nodes while a stage is measured: so many pods of one running container each, which stay from scene to scene. `emptied` comes last: all of
 * them have gone, and the daemons were started again.
 */
export const SCENES = [0, 5, 50, 100, 200, 'emptied'] as const;
export type Scene = (typeof SCENES)[number];

/** What is measured in one scene. */
export interface Stage {
  readonly scene: Scene;
  /** Rounds that are counted, and those before them that are not. Those of a smoke run: 1 and none. */
  readonly rounds: number;
  readonly warmUps: number;
  /** Whether `--rounds` leaves the number alone: a round is long, or the first one only counts. */
  readonly fixedRounds?: true;
  /** Default: both. */
  readonly runtimes?: readonly Runtime[];
  /** Makes on one side what the rounds need. */
  begin(side: Side, scale: Scale): Promise<Sampler>;
}

export interface Sampler {
  /** One round on one side. Rounds alternate between the sides. */
  sample(): Promise<Sampled>;
  /** Takes away what `begin` made. */
  end?(): Promise<void>;
}

export interface Figure {
  /** As `--figures` takes it. */
  readonly name: string;
  readonly title: string;
  /** What exactly is measured, in sentences for docs/benchmarks.md. */
  readonly about: string;
  readonly measures: readonly Measure[];
  readonly stages: readonly Stage[];
  /** Whether its rounds end the daemon and start it again: then nobody can look on. */
  readonly restartsDaemon?: true;
}

export const atMost = (limit: number, of: Target['of'] = 'ratio'): Target => ({ of, bound: 'at most', limit });
export const atLeast = (limit: number): Target => ({ of: 'ratio', bound: 'at least', limit });
