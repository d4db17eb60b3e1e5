import type { WideInteger } from '@criquet/runtime-containerd';

/** An int64 of CRI as OCI's JSON wants it: a number where exact, otherwise the bigint itself. */
export function toWideInteger(value: bigint): WideInteger {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}
