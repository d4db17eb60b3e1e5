import { mkdtemp, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '@criquet/runtime-containerd';
import { mount, MountFlag, unmount } from './mount.js';

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
  const [first, ...more] = mounts;
  if (first === undefined || more.length > 0) throw new Error(`a snapshot of ${mounts.length} mounts cannot be read`);
  if (first.type === 'bind') return read(first.source);
  const lower = first.type === 'overlay' ? optionValue(first, 'lowerdir') : undefined;
  if (lower !== undefined && !lower.includes(':')) return read(lower);
  const root = await mkdtemp(join(parent, 'rootfs-'));
  try {
    mount(first.source, root, first.type, MountFlag.readonly, readOnlyOptions(first).join(','));
    return await read(root);
  } finally {
    unmount(root);
    await rmdir(root);
  }
}

/** Unmounts and removes all mount points below `parent`, which need not exist. */
export async function removeMountPoints(parent: string): Promise<void> {
  const names = await readdir(parent).catch((): string[] => []);
  for (const name of names) {
    unmount(join(parent, name));
    await rmdir(join(parent, name));
  }
}

function optionValue(mount: Mount, name: string): string | undefined {
  return mount.options.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Without the writable layer, without what is a flag and no option, and without the ids of a user namespace: files are read as they lie there. */
function readOnlyOptions(mount: Mount): string[] {
  return mount.options.filter((option) => !/^(?:upperdir=|workdir=|uidmap=|gidmap=|ro$|rw$)/.test(option));
}
