import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Whether a plugin's `type` can be a file name in a bin directory (SPEC.md section 1). */
export function isPluginType(type: string): boolean {
  return type !== '' && type !== '.' && type !== '..' && !/[/\\\0]/.test(type);
}

/** The first regular file (or link to one) of that name in the directories; undefined when there is none. */
export async function findPlugin(type: string, binDirs: readonly string[]): Promise<string | undefined> {
  if (!isPluginType(type)) return undefined;
  for (const dir of binDirs) {
    const path = join(dir, type);
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile() === true) return path;
  }
  return undefined;
}
