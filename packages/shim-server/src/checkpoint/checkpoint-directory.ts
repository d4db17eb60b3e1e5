import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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
  await rm(directory, { recursive: true, force: true });
  await rmdir(dirname(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTEMPTY') throw error;
  });
}
