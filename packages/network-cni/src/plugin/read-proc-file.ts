import { close, open, read } from 'node:fs';

const CHUNK_BYTES = 16 * 1024;

/**
 * A file that the kernel makes when it is read, such as one below `/proc`, as Latin-1. By the threads of the pool, since that of a process may be waited for, and with half
 * the steps of `readFile`: a node has a thousand processes.
 */
export function readProcFile(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    open(path, 'r', (failure, fd) => {
      if (failure !== null) {
        reject(failure);
        return;
      }
      const parts: string[] = [];
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const next = (): void =>
        read(fd, chunk, 0, CHUNK_BYTES, null, (error, length) => {
          if (error === null) parts.push(chunk.toString('latin1', 0, length));
          // Less than was asked for is the end.
          if (error === null && length === CHUNK_BYTES) next();
          else close(fd, () => (error === null ? resolve(parts.join('')) : reject(error)));
        });
      next();
    });
  });
}
