import { constants } from 'node:fs';
import { chmod, copyFile, lchown, link, lstat, lutimes, mkdir, opendir, readlink, symlink } from 'node:fs/promises';
import type { BigIntStats } from 'node:fs';
import { join } from 'node:path';
import { makeNode } from './make-node.js';
import type { Xattrs } from './xattrs.js';

/** Labels belong to a place, and the rest is how overlayfs marks its layers. */
const LEFT_OUT = /^(?:security\.selinux$|(?:trusted|user)\.overlay\.)/;

/**
 * Copies what is in a directory, and the directory's own attributes, into another one: owners, modes, times, extended
 * attributes, links, FIFOs and devices. Symbolic links are copied, never followed. Nobody else may change either side.
 *
 * @param source may be a path below `/proc/self/fd`
 * @param target an existing, empty directory
 */
export async function copyTree(source: string, target: string, xattrs: Xattrs): Promise<void> {
  await new TreeCopy(xattrs).directory(source, target);
}

class TreeCopy {
  /** First copies of files that have several names, by device and inode. */
  private readonly linked = new Map<string, string>();

  constructor(private readonly xattrs: Xattrs) {}

  async directory(source: string, target: string): Promise<void> {
    // A trailing slash, so that a descriptor below /proc/self/fd is looked into and not at.
    const stats = await lstat(`${source}/`, { bigint: true });
    for await (const { name } of await opendir(source)) await this.entry(join(source, name), join(target, name));
    await this.attributes(`${source}/.`, target, stats);
  }

  private async entry(source: string, target: string): Promise<void> {
    const stats = await lstat(source, { bigint: true });
    if (stats.isDirectory()) {
      await mkdir(target, { mode: 0o700 });
      await this.directory(source, target);
      return;
    }
    const inode = `${stats.dev}:${stats.ino}`;
    const first = this.linked.get(inode);
    if (first !== undefined) {
      await link(first, target);
      return;
    }
    if (stats.nlink > 1n) this.linked.set(inode, target);
    if (stats.isSymbolicLink()) await symlink(await readlink(source, 'buffer'), target);
    else if (stats.isFile()) await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    else if (!(await makeNode(target, stats))) return;
    await this.attributes(source, target, stats);
  }

  /** A new owner takes set-user-id and capabilities away, so it comes first. */
  private async attributes(source: string, target: string, stats: BigIntStats): Promise<void> {
    await lchown(target, Number(stats.uid), Number(stats.gid));
    if (!stats.isSymbolicLink()) await chmod(target, Number(stats.mode & 0o7777n));
    for (const name of await this.xattrs.list(source)) {
      if (LEFT_OUT.test(name)) continue;
      const value = await this.xattrs.get(source, name);
      if (value !== undefined) await this.xattrs.set(target, name, value);
    }
    await lutimes(target, seconds(stats.atimeNs), seconds(stats.mtimeNs));
  }
}

function seconds(nanoseconds: bigint): number {
  return Number(nanoseconds) / 1e9;
}
