import type { CgroupFiles } from './cgroup-files.js';

/** What CPU time a cgroup had besides its sum. Times are cumulative, in nanoseconds. */
export interface CpuTimes {
  readonly user: bigint;
  readonly system: bigint;
  /** What the CPU quota did: periods that passed, those in which it held something up, and for how long. */
  readonly periods: bigint;
  readonly throttledPeriods: bigint;
  readonly throttled: bigint;
  /** What was used beyond the quota out of what had been saved up (`cpu.max.burst`); kernels before 5.15 do not count it. */
  readonly burstPeriods: bigint;
  readonly burst: bigint;
}

/** v1 counts user and system time in ticks; the kernel's ABI fixes them to 100 a second on every architecture of today. */
const TICK_NANOS = 10_000_000n;

/** CPU time of a cgroup and those below it in nanoseconds: `cpu.stat` on v2, `cpuacct.usage` on v1. */
export function readCpuUsage(files: CgroupFiles): bigint | undefined {
  if (files.version === 'v1') return files.number('cpuacct', 'cpuacct.usage');
  const usage = files.keyed('cpu', 'cpu.stat')?.get('usage_usec');
  return usage === undefined ? undefined : usage * 1000n;
}

/** `cpu.stat` on v2, `cpuacct.stat` and `cpu.stat` on v1. */
export function readCpuTimes(files: CgroupFiles): CpuTimes {
  const stat = files.keyed('cpu', 'cpu.stat');
  const of = (name: string): bigint => stat?.get(name) ?? 0n;
  const counts = { periods: of('nr_periods'), throttledPeriods: of('nr_throttled'), burstPeriods: of('nr_bursts') };
  if (files.version === 'v2') {
    const micros = (name: string): bigint => of(name) * 1000n;
    return { ...counts, user: micros('user_usec'), system: micros('system_usec'), throttled: micros('throttled_usec'), burst: micros('burst_usec') };
  }
  const times = files.keyed('cpuacct', 'cpuacct.stat');
  const ticks = (name: string): bigint => (times?.get(name) ?? 0n) * TICK_NANOS;
  return { ...counts, user: ticks('user'), system: ticks('system'), throttled: of('throttled_time'), burst: of('burst_time') };
}
