/** Unix time in nanoseconds, as CRI and containerd count; its resolution is the millisecond. */
export function unixNanos(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** The time now, or just after the latest of `others` where the clock was set back behind it: who sorts by it finds what was made last. */
export function unixNanosAfter(others: Iterable<bigint>): bigint {
  let time = unixNanos();
  for (const other of others) if (other >= time) time = other + 1n;
  return time;
}

/** The time now, or `earlier` where the clock was set back behind it: nothing ends before it began. */
export function unixNanosSince(earlier: bigint): bigint {
  const now = unixNanos();
  return now > earlier ? now : earlier;
}
