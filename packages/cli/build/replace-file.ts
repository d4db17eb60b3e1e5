import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file beside its place and renames it; one that holds the same already is left alone. */
export async function replaceFile(path: string, contents: Uint8Array | string): Promise<void> {
  const wanted = Buffer.from(contents);
  const present = await readFile(path).catch(() => undefined);
  if (present?.equals(wanted) === true) return;
  await mkdir(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}.new`;
  await writeFile(beside, wanted);
  await rename(beside, path);
}
