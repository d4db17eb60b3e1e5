import { mkdtemp, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '@criquet/runtime-containerd';
import { mount, MountFlag, unmount } from './mount.js';

/** `MS_REC` and the flags that snapshotters give as mount options. */
const OPTION_FLAGS: Readonly<Record<string, number>> = {
  ro: MountFlag.readonly,
  rw: 0,
  bind: MountFlag.bind,
  rbind: MountFlag.bind | 16384,
  nosuid: MountFlag.nosuid,
  nodev: MountFlag.nodev,
  noexec: MountFlag.noexec,
};

/**
 * Mounts a snapshot on a directory of its own below `parent` for as long as `use` takes.
 * Overlay and bind mounts, which is what snapshotters give, take well below a millisecond.
 */
export async function withMountedSnapshot<T>(mounts: readonly Mount[], parent: string, use: (root: string) => Promise<T>): Promise<T> {
  const root = await mkdtemp(join(parent, 'rootfs-'));
  try {
    for (const each of mounts) {
      const data = each.options.filter((option) => !(option in OPTION_FLAGS));
      const flags = each.options.reduce((bits, option) => bits | (OPTION_FLAGS[option] ?? 0), 0);
      const target = each.target === '' ? root : join(root, each.target);
      mount(each.source, target, each.type === 'bind' ? '' : each.type, flags, data.join(','));
    }
    return await use(root);
  } finally {
    unmount(root);
    await rmdir(root);
  }
}
