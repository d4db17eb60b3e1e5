import type { CgroupFiles } from './cgroup-files.js';

/** How hard the kernel works to keep a cgroup's memory small. v1 counts only the first two. */
export interface MemoryReclaim {
  /** Bytes of the page cache that are to be written back, and that are being written. */
  readonly dirty: bigint;
  readonly writeback: bigint;
  /** Pages that were looked at, and that were taken. */
  readonly scanned: bigint;
  readonly stolen: bigint;
  /** Pages that were taken and soon wanted again, of files and others. */
  readonly refaultedFile: bigint;
  readonly refaultedAnonymous: bigint;
  /** How often usage went beyond `memory.high`, and met `memory.max`. */
  readonly highEvents: bigint;
  readonly maxEvents: bigint;
}

/** `memory.stat` and `memory.events`. */
export function readMemoryReclaim(files: CgroupFiles): MemoryReclaim {
  const v2 = files.version === 'v2';
  const stat = files.keyed('memory', 'memory.stat');
  const events = v2 ? files.keyed('memory', 'memory.events') : undefined;
  const of = (name: string): bigint => stat?.get(name) ?? 0n;
  return {
    dirty: of(v2 ? 'file_dirty' : 'total_dirty'),
    writeback: of(v2 ? 'file_writeback' : 'total_writeback'),
    scanned: of('pgscan'),
    stolen: of('pgsteal'),
    refaultedFile: of('workingset_refault_file'),
    refaultedAnonymous: of('workingset_refault_anon'),
    highEvents: events?.get('high') ?? 0n,
    maxEvents: events?.get('max') ?? 0n,
  };
}
