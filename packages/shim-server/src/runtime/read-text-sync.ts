import { readFileSync } from 'node:fs';

/** A small file that the kernel makes when it is read, of a cgroup or of `/proc`, or has in memory, below `/etc`; undefined when it cannot be read. */
export function readTextSync(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
