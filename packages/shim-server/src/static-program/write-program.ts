import { chmod, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const MODE = 0o755;

/** Puts an executable in its place, if it is not there; a daemon killed half-way through leaves no half a program behind. */
export async function writeProgram(path: string, program: Buffer): Promise<void> {
  if (await isThere(path, program)) return;
  const unfinished = join(dirname(path), `.${basename(path)}.${process.pid}`);
  try {
    await writeFile(unfinished, program);
    await chmod(unfinished, MODE);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function isThere(path: string, program: Buffer): Promise<boolean> {
  try {
    return (await readFile(path)).equals(program) && ((await stat(path)).mode & 0o777) === MODE;
  } catch {
    return false;
  }
}
