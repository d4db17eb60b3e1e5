import type { CgroupFiles } from './cgroup-files.js';

/** Cumulative, in nanoseconds. */
export interface CpuTime {
  readonly usage: bigint;
  readonly user: bigint;
  readonly system: bigint;
  /** What the CPU quota did: periods that passed, those in which it held something up, and for how long. */
  readonly periods: bigint;
  readonly throttledPeriods: bigint;
  readonly throttled: bigint;
}

/** v1 counts user and system time in ticks; the kernel's ABI fixes them to 100 a second on every architecture of today. */
const TICK_NANOS = 10_000_000n;

/** CPU time of a cgroup: `cpu.stat` on v2, `cpuacct.usage`, `cpuacct.stat` and `cpu.stat` on v1. */
export function readCpuTime(files: CgroupFiles): CpuTime | undefined {
  if (files.version === 'v2') {
    const stat = files.keyed('cpu', 'cpu.stat');
    const usage = stat?.get('usage_usec');
    if (stat === undefined || usage === undefined) return undefined;
    return {
      usage: usage * 1000n,
      user: (stat.get('user_usec') ?? 0n) * 1000n,
      system: (stat.get('system_usec') ?? 0n) * 1000n,
      periods: stat.get('nr_periods') ?? 0n,
      throttledPeriods: stat.get('nr_throttled') ?? 0n,
      throttled: (stat.get('throttled_usec') ?? 0n) * 1000n,
    };
  }
  const usage = files.number('cpuacct', 'cpuacct.usage');
  const times = files.keyed('cpuacct', 'cpuacct.stat');
  const stat = files.keyed('cpu', 'cpu.stat');
  if (usage === undefined) return undefined;
  return {
    usage,
    user: (times?.get('user') ?? 0n) * TICK_NANOS,
    system: (times?.get('system') ?? 0n) * TICK_NANOS,
    periods: stat?.get('nr_periods') ?? 0n,
    throttledPeriods: stat?.get('nr_throttled') ?? 0n,
    throttled: stat?.get('throttled_time') ?? 0n,
  };
}
