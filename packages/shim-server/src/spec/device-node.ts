import type { BigIntStats } from 'node:fs';
import type { LinuxDevice } from '@criquet/runtime-containerd';

/** A device node that was looked at, as it is to be in a container; undefined for what is no device. */
export function toDevice(stats: BigIntStats, path: string): LinuxDevice | undefined {
  const type = stats.isBlockDevice() ? 'b' : stats.isCharacterDevice() ? 'c' : stats.isFIFO() ? 'p' : undefined;
  if (type === undefined) return undefined;
  return {
    path,
    type,
    ...deviceNumbers(stats.rdev),
    fileMode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
  };
}

/** The C library's packing of major and minor in 64 bits (gnu_dev_major(3)). */
function deviceNumbers(rdev: bigint): { major: number; minor: number } {
  return {
    major: Number(((rdev >> 8n) & 0xfffn) | ((rdev >> 32n) & 0xfffff000n)),
    minor: Number((rdev & 0xffn) | ((rdev >> 12n) & 0xffffff00n)),
  };
}
