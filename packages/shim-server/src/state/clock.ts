/** Unix time in nanoseconds, as CRI and containerd count; its resolution is the millisecond. */
export function unixNanos(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}
