import type { RawRequest } from '../caller/raw-client.js';
import { atLeast, type Measure, type Sampled } from '../figure.js';
import type { Scale } from '../scale.js';
import type { Side } from '../side.js';

/** How many calls are under way at any time. */
const CALLERS = [1, 8] as const;

/** One row for each number of callers. */
export function rateMeasures(name: string, title: string, targets: Readonly<Record<(typeof CALLERS)[number], number>>): Measure[] {
  return CALLERS.map((callers) => ({
    name: `${name}-${callers}`,
    title: `${title}, ${callers} ${callers === 1 ? 'caller' : 'callers'}`,
    unit: '1/s',
    better: 'more',
    target: atLeast(targets[callers]),
  }));
}

/** Calls as fast as they are answered, for a second with each number of callers. */
export async function sampleRates(side: Side, scale: Scale, name: string, request: RawRequest): Promise<Sampled> {
  const rates: Record<string, number> = {};
  for (const callers of CALLERS) rates[`${name}-${callers}`] = await side.callsPerSecond(request, callers, scale.pick(1_000, 100));
  return rates;
}
