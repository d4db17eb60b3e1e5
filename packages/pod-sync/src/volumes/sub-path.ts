import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, realpath, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Mounter } from './mount-command.js';
import { VolumeError } from './volume-error.js';

/** open(2): a handle on the place itself, without reading it (a FIFO would block). Node has no name for it. */
const O_PATH = 0x200000;

/**
 * Makes `subPath` of a volume a mount source of its own, and returns its path.
 *
 * Containers that run already can change the volume meanwhile: a directory exchanged for a symbolic link between check and mount
 * would show the container a place outside (CVE-2017-1002101). So the path is walked by handles that follow no link, and what the
 * last handle holds is bound to a directory that no container sees; that is the mount's source.
 */
export async function bindSubPath(
  volume: string,
  root: string,
  subPath: string,
  target: string,
  mounter: Mounter,
  signal?: AbortSignal,
): Promise<string> {
  const handle = await openWithin(volume, root, subPath);
  try {
    for (const point of await mounter.below(target)) await mounter.unmount(point, signal);
    await rm(target, { recursive: true, force: true });
    await mkdir(dirname(target), { recursive: true, mode: 0o750 });
    if ((await handle.stat()).isDirectory()) await mkdir(target, { mode: 0o750 });
    else await writeFile(target, '', { mode: 0o640 });
    await mounter.bind(`/proc/${process.pid}/fd/${handle.fd}`, target, signal);
  } finally {
    await handle.close();
  }
  return target;
}

/** Opens a path below `root`, making directories that are missing; links inside are resolved first and must stay inside. */
async function openWithin(volume: string, root: string, subPath: string): Promise<FileHandle> {
  const base = await realpath(root);
  const resolved = await resolveExisting(join(base, subPath));
  const inside = relative(base, resolved);
  if (inside === '..' || inside.startsWith('../')) throw new VolumeError(volume, `subPath ${JSON.stringify(subPath)} leads out of the volume`);
  let handle = await open(base, O_PATH | constants.O_NOFOLLOW);
  // Directories that are made get the volume's own mode, as the kubelet gives it: whoever may use the volume may use them.
  const mode = (await handle.stat()).mode & 0o777;
  for (const part of inside.split('/').filter((name) => name !== '')) {
    const next = await step(volume, subPath, handle, part, mode).finally(() => handle.close());
    handle = next;
  }
  return handle;
}

/** The real path of what exists of `path`, with the rest as it stands. */
async function resolveExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const dangling = await lstat(path).catch(() => undefined);
    if (dangling?.isSymbolicLink()) throw error;
    return join(await resolveExisting(dirname(path)), path.slice(dirname(path).length + 1));
  }
}

async function step(volume: string, subPath: string, parent: FileHandle, name: string, mode: number): Promise<FileHandle> {
  const path = `/proc/self/fd/${parent.fd}/${name}`;
  const made = await mkdir(path, { mode }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
  const handle = await open(path, O_PATH | constants.O_NOFOLLOW);
  const stats = await handle.stat();
  if (!stats.isSymbolicLink()) {
    // The umask took bits away; a set-group-id bit that was inherited stays.
    if (made) await chmod(`/proc/self/fd/${handle.fd}`, (stats.mode & 0o7000) | mode);
    return handle;
  }
  await handle.close();
  throw new VolumeError(volume, `subPath ${JSON.stringify(subPath)} was exchanged for a symbolic link`);
}
