import { chmod, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Puts an executable in its place; a daemon killed half-way through leaves no half a program behind. */
export async function writeProgram(path: string, program: Buffer): Promise<void> {
  const unfinished = join(dirname(path), `.${basename(path)}.${process.pid}`);
  await writeFile(unfinished, program);
  await chmod(unfinished, 0o755);
  await rename(unfinished, path);
}
