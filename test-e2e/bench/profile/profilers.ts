import type { Inspector } from './inspector.js';
import { cpuCosts, heapCosts, type CpuProfile, type HeapProfile, type SelfCost } from './self-cost.js';

/** One of V8's profilers, by its inspector. */
export interface Profiler {
  /** Of the file, as Chrome's developer tools take it. */
  readonly suffix: string;
  /** What the costs are shares of. */
  readonly share: string;
  start(inspector: Inspector): Promise<void>;
  stop(inspector: Inspector): Promise<{ profile: object; costs: SelfCost[] }>;
}

/** Between two samples of the CPU. */
const INTERVAL_US = 200;
/** Between two allocations that are sampled, on the average. */
const INTERVAL_BYTES = 16_384;

export const PROFILERS = {
  cpu: {
    suffix: 'cpuprofile',
    share: 'of the time in which the main thread was not idle',
    async start(inspector) {
      await inspector.call('Profiler.enable');
      await inspector.call('Profiler.setSamplingInterval', { interval: INTERVAL_US });
      await inspector.call('Profiler.start');
    },
    async stop(inspector) {
      const { profile } = await inspector.call<{ profile: CpuProfile }>('Profiler.stop');
      return { profile, costs: cpuCosts(profile) };
    },
  },
  heap: {
    suffix: 'heapprofile',
    share: 'of the bytes allocated on the heap, whether or not they are still there',
    async start(inspector) {
      const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
      await inspector.call('HeapProfiler.startSampling', { samplingInterval: INTERVAL_BYTES, ...collected });
    },
    async stop(inspector) {
      const { profile } = await inspector.call<{ profile: HeapProfile }>('HeapProfiler.stopSampling');
      return { profile, costs: heapCosts(profile) };
    },
  },
} as const satisfies Record<string, Profiler>;
