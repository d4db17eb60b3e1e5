import type { BigIntStats } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

const libc = koffi.load(null);
/** mknod(2); found when it is first wanted, since a C library older than glibc 2.33 has it under another name. */
let mknod: ReturnType<typeof libc.func> | undefined;

/**
 * Makes a FIFO or device like the one that `stats` tells of.
 *
 * @returns false, with nothing made, for what is no file of a tree: a socket, and the mark of overlayfs for a removed file
 */
export async function makeNode(path: string, stats: BigIntStats): Promise<boolean> {
  if (stats.isSocket() || (stats.isCharacterDevice() && stats.rdev === 0n)) return false;
  mknod ??= libc.func('int mknod(const char *path, unsigned int mode, uint64_t device)');
  const call = mknod;
  await new Promise<void>((resolve, reject) => {
    call.async(path, Number(stats.mode), stats.rdev, (failure: Error | null, result: number) => {
      if (failure === null && result === 0) resolve();
      else reject(failure ?? new Error(`mknod ${path}: ${getSystemErrorName(-koffi.errno())}`));
    });
  });
  return true;
}
