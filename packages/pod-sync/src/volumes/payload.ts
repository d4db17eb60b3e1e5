import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ConfigObject, KeyToPath } from '../manifest/pod.js';
import { VolumeError } from './volume-error.js';

/** A file of a volume that shows a ConfigMap or Secret. */
export interface PayloadFile {
  /** Below the volume's directory. */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
}

/** The files of a ConfigMap or Secret volume: every key, or the chosen items under their own paths. */
export function payloadFiles(
  volume: string,
  object: ConfigObject | undefined,
  items: readonly KeyToPath[] | undefined,
  defaultMode: number,
  optional: boolean,
): PayloadFile[] {
  const data = { ...object?.data, ...object?.binaryData };
  const chosen = items ?? Object.keys(data).map((key) => ({ key, path: key, mode: undefined }));
  return chosen.flatMap(({ key, path, mode }) => {
    const content = data[key];
    if (content !== undefined) return [{ path, content, mode: mode ?? defaultMode }];
    if (optional) return [];
    throw new VolumeError(volume, `there is no key ${JSON.stringify(key)}`);
  });
}

/**
 * Writes the files as the kubelet does, so that a reader never sees half of a change: they stand in a directory named after
 * their content, `..data` points to it, and each visible name points into `..data`. Returns without a write when nothing changed.
 */
export async function writePayload(directory: string, files: readonly PayloadFile[]): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await chmod(directory, 0o777);
  const current = await readlink(join(directory, '..data')).catch(() => undefined);
  const version = `..${contentHash(files)}`;
  if (current !== version) await switchTo(directory, version, files);
  await showNames(directory, new Set(files.map((file) => topName(file.path))));
  await removeOldVersions(directory, version);
}

async function switchTo(directory: string, version: string, files: readonly PayloadFile[]): Promise<void> {
  const target = join(directory, version);
  // A remainder of a run that was interrupted.
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { mode: 0o755 });
  for (const file of files) {
    const path = join(target, file.path);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(path, file.content, { flag: 'wx', mode: 0o600 });
    await chmod(path, file.mode);
  }
  await rm(join(directory, '..data_tmp'), { force: true });
  await symlink(version, join(directory, '..data_tmp'));
  await rename(join(directory, '..data_tmp'), join(directory, '..data'));
}

async function showNames(directory: string, names: ReadonlySet<string>): Promise<void> {
  const shown = (await readdir(directory)).filter((name) => !name.startsWith('..'));
  for (const name of shown) {
    if (!names.has(name)) await rm(join(directory, name), { force: true });
  }
  for (const name of names) {
    if (!shown.includes(name)) await symlink(join('..data', name), join(directory, name));
  }
}

async function removeOldVersions(directory: string, version: string): Promise<void> {
  const old = (await readdir(directory)).filter((name) => name.startsWith('..') && name !== version && name !== '..data');
  for (const name of old) await rm(join(directory, name), { recursive: true, force: true });
}

function topName(path: string): string {
  return path.split('/').find((part) => part !== '' && part !== '.') ?? path;
}

function contentHash(files: readonly PayloadFile[]): string {
  const hash = createHash('sha256');
  for (const file of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(JSON.stringify([file.path, file.mode, file.content.length])).update(file.content);
  }
  return hash.digest('hex').slice(0, 16);
}
