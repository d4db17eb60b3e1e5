import type { Timestamp } from '../gen/google/protobuf/timestamp.js';
import { fromNanos } from '../grpc/timestamp.js';

let last = 0n;

/** Nanoseconds since 1970, never the same twice. */
export function nowNanos(): bigint {
  const now = BigInt(Date.now()) * 1_000_000n;
  last = now > last ? now : last + 1n;
  return last;
}

export function now(): Timestamp {
  return fromNanos(nowNanos());
}
