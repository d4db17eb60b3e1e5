import type { CgroupFiles } from './cgroup-files.js';

/** What a cgroup used beyond its CPU quota out of what it had saved up (`cpu.max.burst`). */
export interface CpuBursts {
  readonly periods: bigint;
  /** Nanoseconds. */
  readonly time: bigint;
}

/** `cpu.stat`; kernels before 5.15 do not count bursts. */
export function readCpuBursts(files: CgroupFiles): CpuBursts {
  const stat = files.keyed('cpu', 'cpu.stat');
  return {
    periods: stat?.get('nr_bursts') ?? 0n,
    time: files.version === 'v2' ? (stat?.get('burst_usec') ?? 0n) * 1000n : (stat?.get('burst_time') ?? 0n),
  };
}
