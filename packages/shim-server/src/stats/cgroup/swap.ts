import type { CgroupFiles } from './cgroup-files.js';
import type { Memory } from './memory.js';

/** Bytes of swap alone. */
export interface Swap {
  readonly usage: bigint;
  /** Absent without a limit. */
  readonly limit?: bigint;
}

/**
 * Swap of a cgroup; absent where the kernel does not account it. v1 counts memory and swap together (`memory.memsw.*`), v2 swap alone.
 *
 * @param memory of the same cgroup, just read
 */
export function readSwap(files: CgroupFiles, memory: Pick<Memory, 'usage' | 'limit'> | undefined): Swap | undefined {
  if (files.version === 'v2') {
    const usage = files.number('memory', 'memory.swap.current');
    const limit = files.limit('memory', 'memory.swap.max');
    return usage === undefined ? undefined : { usage, ...(typeof limit === 'bigint' ? { limit } : {}) };
  }
  const both = files.number('memory', 'memory.memsw.usage_in_bytes');
  const bothLimit = files.limit('memory', 'memory.memsw.limit_in_bytes');
  if (both === undefined || memory === undefined) return undefined;
  const limited = typeof bothLimit === 'bigint' && memory.limit !== undefined;
  return { usage: less(both, memory.usage), ...(limited ? { limit: less(bothLimit, memory.limit) } : {}) };
}

/** The two are read one after the other: the difference may come out below zero. */
function less(a: bigint, b: bigint): bigint {
  return a > b ? a - b : 0n;
}
