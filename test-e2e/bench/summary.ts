import type { Runtime } from '../harness/node.js';
import type { Measure, Target } from './figure.js';
import type { BenchRun } from './samples.js';
import { median, quantile } from './statistics.js';

/** What one side showed. */
export interface Spread {
  readonly median: number;
  /** What 95 of 100 samples are not worse than; absent for a quotient of medians. */
  readonly p95?: number;
}

/** A line of the table; a side is absent where it was not measured. */
export interface Row {
  readonly measure: Measure;
  readonly sides: Readonly<Partial<Record<Runtime, Spread>>>;
  /** criquet's median divided by the plugin's. */
  readonly ratio?: number;
  /** Absent where there is no target. */
  readonly met?: boolean;
}

/** The rows of those measures that a run has, in their order. */
export function summarise(measures: readonly Measure[], samples: BenchRun['samples']): Row[] {
  return measures.flatMap((measure) => {
    const sides = spreads(measure, samples);
    const { criquet, containerd } = sides;
    if (criquet === undefined && containerd === undefined) return [];
    // A plugin that took nothing at all is no measure.
    const ratio = criquet === undefined || !containerd?.median ? undefined : criquet.median / containerd.median;
    const reached = measure.target?.of === 'ratio' ? ratio : criquet?.median;
    const met = measure.target === undefined || reached === undefined ? undefined : meets(measure.target, reached);
    return [{ measure, sides, ...(ratio === undefined ? {} : { ratio }), ...(met === undefined ? {} : { met }) }];
  });
}

/** As a number is told, to the hundredth, so that no table shows a limit that was missed by less than it can tell. */
function meets({ bound, limit }: Target, reached: number): boolean {
  const told = Math.round(reached * 100) / 100;
  return bound === 'at most' ? told <= limit : told >= limit;
}

function spreads(measure: Measure, samples: BenchRun['samples']): Partial<Record<Runtime, Spread>> {
  const sides: Partial<Record<Runtime, Spread>> = {};
  for (const runtime of ['criquet', 'containerd'] as const) {
    const of = (name: string) => samples[name]?.[runtime] ?? [];
    if (measure.quotient !== undefined) {
      const [dividend, divisor] = measure.quotient;
      if (of(dividend).length > 0 && of(divisor).length > 0) sides[runtime] = { median: median(of(dividend)) / median(of(divisor)) };
    } else if (of(measure.name).length > 0) {
      const values = of(measure.name);
      // The worse end: of a rate that is the lower one.
      const p95 = measure.better === 'less' ? quantile(values, 0.95) : -quantile(values.map((value) => -value), 0.95);
      sides[runtime] = { median: median(values), p95 };
    }
  }
  return sides;
}
