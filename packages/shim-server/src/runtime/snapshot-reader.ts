import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '@criquet/runtime-containerd';
import { removeMountPoint } from './mount-point.js';
import { mountReadOnly } from './snapshot-mount.js';

/**
 * Lets `read` look into a snapshot that nobody has written to yet, by a path on this machine.
 *
 * Only what has to be mounted is: layers lie in directories, so a bind mount's source and a single layer are read in place, and
 * several layers are put together by a read-only overlay. The snapshot's own writable layer is left out: unmounting an overlay
 * that has one flushes its whole file system, which can take seconds.
 *
 * @param parent an existing directory for mount points.
 */
export async function readSnapshot<T>(mounts: readonly Mount[], parent: string, read: (root: string) => Promise<T>): Promise<T> {
  const inPlace = mounts.length === 1 ? onlyDirectory(mounts[0]) : undefined;
  if (inPlace !== undefined) return read(inPlace);
  const root = await mkdtemp(join(parent, 'rootfs-'));
  try {
    await mountReadOnly(mounts, root);
    return await read(root);
  } finally {
    await removeMountPoint(root);
  }
}

function onlyDirectory(mount: Mount | undefined): string | undefined {
  if (mount?.type === 'bind') return mount.source;
  if (mount?.type !== 'overlay') return undefined;
  const lower = mount.options.find((option) => option.startsWith('lowerdir='))?.slice('lowerdir='.length);
  return lower?.includes(':') === true ? undefined : lower;
}
