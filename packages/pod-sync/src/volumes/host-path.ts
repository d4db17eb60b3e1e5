import { mkdir, open, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import type { HostPathType } from '../manifest/pod.js';
import { VolumeError } from './volume-error.js';

interface Check {
  readonly expected: string;
  readonly holds: (stats: Stats) => boolean;
}

const CHECKS: Readonly<Record<Exclude<HostPathType, ''>, Check>> = {
  DirectoryOrCreate: { expected: 'a directory', holds: (stats) => stats.isDirectory() },
  Directory: { expected: 'a directory', holds: (stats) => stats.isDirectory() },
  FileOrCreate: { expected: 'a file', holds: (stats) => stats.isFile() },
  File: { expected: 'a file', holds: (stats) => stats.isFile() },
  Socket: { expected: 'a unix socket', holds: (stats) => stats.isSocket() },
  CharDevice: { expected: 'a character device', holds: (stats) => stats.isCharacterDevice() },
  BlockDevice: { expected: 'a block device', holds: (stats) => stats.isBlockDevice() },
};

/** Checks a hostPath by its type and makes what the type says may be made; type "" checks nothing. */
export async function checkHostPath(volume: string, path: string, type: HostPathType): Promise<void> {
  if (type === '') return;
  if (type === 'DirectoryOrCreate') await ignoringExisting(mkdir(path, { recursive: true, mode: 0o755 }));
  if (type === 'FileOrCreate') await ignoringExisting(open(path, 'ax', 0o644).then((file) => file.close()));
  const { expected, holds } = CHECKS[type];
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new VolumeError(volume, `hostPath ${path} cannot be read (${error.code ?? error.message}), type ${type} wants ${expected}`);
  });
  if (!holds(stats)) throw new VolumeError(volume, `hostPath ${path} is not ${expected}, as type ${type} wants`);
}

/** What is there already is looked at afterwards. */
async function ignoringExisting(creation: Promise<unknown>): Promise<void> {
  await creation.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
