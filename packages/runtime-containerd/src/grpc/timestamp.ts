import type { Timestamp } from '../gen/google/protobuf/timestamp.js';

const NANOS_PER_SECOND = 1_000_000_000n;
/** Go's zero time (year 1), which containerd sends for "not set". */
const GO_ZERO_SECONDS = -62135596800n;

/** Nanoseconds since 1970; 0 for a time that is not set. */
export function toNanos(time: Timestamp | undefined): bigint {
  if (time === undefined || time.seconds === GO_ZERO_SECONDS) return 0n;
  return time.seconds * NANOS_PER_SECOND + BigInt(time.nanos);
}

export function fromNanos(nanos: bigint): Timestamp {
  const fraction = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  return { seconds: (nanos - fraction) / NANOS_PER_SECOND, nanos: Number(fraction) };
}
