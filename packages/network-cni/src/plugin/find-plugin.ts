import { statSync } from 'node:fs';
import { join } from 'node:path';

/** Whether a plugin's `type` can be a file name in a bin directory (SPEC.md section 1). */
export function isPluginType(type: string): boolean {
  return type !== '' && type !== '.' && type !== '..' && !/[/\\\0]/.test(type);
}

/** The first regular file (or link to one) of that name in the directories; undefined when there is none. */
export function findPlugin(type: string, binDirs: readonly string[]): string | undefined {
  if (!isPluginType(type)) return undefined;
  for (const dir of binDirs) {
    const path = join(dir, type);
    if (isFile(path)) return path;
  }
  return undefined;
}

/** Not by another thread: every run of a plugin asks, and the kernel knows the few files of a bin directory. */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}
