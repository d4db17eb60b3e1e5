import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory and those above it; ones that are there stay as they are. Node's own `recursive` says ENOENT of a file system that is full.
 *
 * @param mode of what is made
 * @throws the error of the mkdir(2) that failed
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeDirectories(dirname(path), mode);
    await mkdir(path, { mode }).catch((reason: NodeJS.ErrnoException) => {
      if (reason.code !== 'EEXIST') throw reason;
    });
  }
}
