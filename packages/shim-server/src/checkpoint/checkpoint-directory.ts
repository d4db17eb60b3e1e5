import { existsSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unmountAll } from '../runtime/mount-point.js';
import type { Layout } from '../state/layout.js';

/** Where a capture is put together. */
export function captureDirectory(layout: Layout, containerId: string): string {
  return join(layout.checkpoint(containerId), 'capture');
}

/** What a container is restored from. */
export function restoreDirectory(layout: Layout, containerId: string): string {
  return join(layout.checkpoint(containerId), 'restore');
}

/** Removes one of them, and the directory that holds both when it was the last. */
export async function removePart(directory: string): Promise<void> {
  await removeTree(directory);
  await rmdir(dirname(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error;
  });
}

/**
 * Removes a directory after unmounting what is mounted below it. CRIU mounts the node's cgroup hierarchies below its work directory and
 * leaves them there when it is killed: a removal through them would be one of the node's cgroups.
 */
export async function removeTree(directory: string): Promise<void> {
  if (!existsSync(directory)) return;
  await unmountAll((mountPoint) => mountPoint.startsWith(`${directory}/`));
  await rm(directory, { recursive: true, force: true });
}
