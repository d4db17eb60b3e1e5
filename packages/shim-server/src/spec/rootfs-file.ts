import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { openInRoot, TooManyLinks } from '../runtime/open-in-root.js';

/** A file of a root file system cannot be read for a reason that lies in the image. */
export class RootfsFileError extends Error {
  override readonly name = 'RootfsFileError';
}

/**
 * Reads a file of a container's root file system as the container would see it: nothing leads out of `root`.
 *
 * @returns undefined when the file does not exist.
 * @throws RootfsFileError when it is no regular file, too big, or its links go round in a circle.
 */
export async function readRootfsFile(root: string, path: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    return await openInRoot(root, path, async (found) => {
      if (found === undefined) return undefined;
      // The name is bound to one inode by now; a FIFO or device is refused before it is opened.
      const stats = await found.stat();
      if (!stats.isFile()) throw new RootfsFileError(`${path} is not a regular file`);
      if (stats.size > maxBytes) throw new RootfsFileError(`${path} is larger than ${maxBytes} bytes`);
      const file = await open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY);
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    });
  } catch (error) {
    if (error instanceof TooManyLinks) throw new RootfsFileError(error.message, { cause: error });
    throw error;
  }
}
