import type { RawRequest } from '../caller/raw-client.js';
import { atLeast, type Measure, type Sampled } from '../figure.js';
import type { Scale } from '../scale.js';
import type { Side } from '../side.js';

/** How many calls are under way at any time. */
const CALLERS = [1, 8] as const;

/** A row for each number of callers, and what the daemon itself took for a call of the last, which a busy machine changes least. */
export function rateMeasures(name: string, title: string, targets: Readonly<Record<(typeof CALLERS)[number], number>>): Measure[] {
  const rates = CALLERS.map(
    (callers): Measure => ({
      name: `${name}-${callers}`,
      title: `${title}, ${callers} ${callers === 1 ? 'caller' : 'callers'}`,
      unit: '1/s',
      better: 'more',
      target: atLeast(targets[callers]),
    }),
  );
  return [...rates, { name: `${name}-cpu`, title: '· CPU of the daemon for a call', unit: 'µs', better: 'less' }];
}

/** Calls as fast as they are answered, for a second with each number of callers. */
export async function sampleRates(side: Side, scale: Scale, name: string, request: RawRequest): Promise<Sampled> {
  const sampled: Record<string, number> = {};
  for (const callers of CALLERS) {
    const { callsPerSecond, cpuPerCall } = await side.burst(request, callers, scale.pick(1_000, 100));
    sampled[`${name}-${callers}`] = callsPerSecond;
    sampled[`${name}-cpu`] = cpuPerCall;
  }
  return sampled;
}
