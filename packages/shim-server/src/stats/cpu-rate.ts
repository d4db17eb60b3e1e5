/** CPU time used up to a moment. */
export interface CpuPoint {
  /** Nanoseconds of a clock that never steps back. */
  readonly at: bigint;
  /** Nanoseconds. */
  readonly usage: bigint;
}

/** CRI CpuUsage.usage_nano_cores: CPU nanoseconds a second between two points; absent when they do not tell. */
export function cpuRate(from: CpuPoint | undefined, to: CpuPoint): bigint | undefined {
  if (from === undefined || to.at <= from.at || to.usage < from.usage) return undefined;
  return ((to.usage - from.usage) * 1_000_000_000n) / (to.at - from.at);
}
