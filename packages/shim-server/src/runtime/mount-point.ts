import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readMountInfo } from '../spec/index.js';
import { unmount } from './mount.js';

/** Unmounts what is mounted at a path and removes the mount point; one that is gone is fine. */
export async function removeMountPoint(path: string): Promise<void> {
  await unmount(path);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** Unmounts and removes all mount points below `parent`, which need not exist. */
export async function removeMountPoints(parent: string): Promise<void> {
  const names = await readdir(parent).catch((): string[] => []);
  for (const name of names) await removeMountPoint(join(parent, name));
}

/** Unmounts every mount point that `where` picks by its path; what lies on another goes first. */
export async function unmountAll(where: (mountPoint: string) => boolean): Promise<void> {
  const mounts = await readMountInfo();
  // The last one mounted comes last and may lie on an earlier one.
  for (const { mountPoint } of mounts.reverse()) if (where(mountPoint)) await unmount(mountPoint);
}
