import type { CgroupFiles } from './cgroup-files.js';

/** Bytes of swap alone. */
export interface Swap {
  readonly usage: bigint;
  /** Absent without a limit. */
  readonly limit?: bigint;
}

/**
 * Swap of a cgroup; absent where the kernel does not account it. v1 counts memory and swap together (`memory.memsw.*`), v2 swap alone.
 */
export async function readSwap(files: CgroupFiles): Promise<Swap | undefined> {
  if (files.version === 'v2') {
    const [usage, limit] = await Promise.all([files.number('memory', 'memory.swap.current'), files.limit('memory', 'memory.swap.max')]);
    return usage === undefined ? undefined : { usage, ...(typeof limit === 'bigint' ? { limit } : {}) };
  }
  const [both, bothLimit, memory, memoryLimit] = await Promise.all([
    files.number('memory', 'memory.memsw.usage_in_bytes'),
    files.limit('memory', 'memory.memsw.limit_in_bytes'),
    files.number('memory', 'memory.usage_in_bytes'),
    files.limit('memory', 'memory.limit_in_bytes'),
  ]);
  if (both === undefined || memory === undefined) return undefined;
  const limited = typeof bothLimit === 'bigint' && typeof memoryLimit === 'bigint';
  return { usage: less(both, memory), ...(limited ? { limit: less(bothLimit, memoryLimit) } : {}) };
}

/** The two are read one after the other: the difference may come out below zero. */
function less(a: bigint, b: bigint): bigint {
  return a > b ? a - b : 0n;
}
