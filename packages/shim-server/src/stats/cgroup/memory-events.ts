import type { CgroupFiles } from './cgroup-files.js';

/** Memory figures beyond what CRI's stats carry. */
export interface MemoryEvents {
  /** Bytes; the most there was at once. */
  readonly maxUsage?: bigint;
  /** Bytes the kernel uses on behalf of the cgroup. */
  readonly kernel?: bigint;
  /** How often usage hit the limit. */
  readonly limitHits: bigint;
  /** Processes that the kernel killed for the limit. */
  readonly oomKills: bigint;
}

/** Kernels before 5.18 do not sum them up on v2. */
const KERNEL_PARTS = ['kernel_stack', 'pagetables', 'percpu', 'slab', 'sock'];

/** `memory.peak`, `memory.stat` and `memory.events` on v2 and their like on v1. */
export function readMemoryEvents(files: CgroupFiles): MemoryEvents {
  if (files.version === 'v2') {
    const peak = files.number('memory', 'memory.peak');
    const stat = files.keyed('memory', 'memory.stat');
    const events = files.keyed('memory', 'memory.events');
    const kernel = stat?.get('kernel') ?? (stat && KERNEL_PARTS.reduce((sum, part) => sum + (stat.get(part) ?? 0n), 0n));
    return {
      ...(peak === undefined ? {} : { maxUsage: peak }),
      ...(kernel === undefined ? {} : { kernel }),
      limitHits: events?.get('max') ?? 0n,
      oomKills: events?.get('oom_kill') ?? 0n,
    };
  }
  const maxUsage = files.number('memory', 'memory.max_usage_in_bytes');
  const kernel = files.number('memory', 'memory.kmem.usage_in_bytes');
  const limitHits = files.number('memory', 'memory.failcnt');
  const oomControl = files.keyed('memory', 'memory.oom_control');
  return {
    ...(maxUsage === undefined ? {} : { maxUsage }),
    ...(kernel === undefined ? {} : { kernel }),
    limitHits: limitHits ?? 0n,
    oomKills: oomControl?.get('oom_kill') ?? 0n,
  };
}
