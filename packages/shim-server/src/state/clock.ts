/** Unix time in nanoseconds, as CRI and containerd count; its resolution is the millisecond. */
export function unixNanos(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** The time now, or `earlier` where the clock was set back behind it: nothing ends before it began. */
export function unixNanosSince(earlier: bigint): bigint {
  const now = unixNanos();
  return now > earlier ? now : earlier;
}
