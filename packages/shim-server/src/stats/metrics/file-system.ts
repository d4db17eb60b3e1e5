import { realpath, statfs } from 'node:fs/promises';
import { mountOf, readMountInfo } from '../../spec/index.js';

/** The file system a directory is on. */
export interface FileSystem {
  /** What is mounted, for example `/dev/sda1`. */
  readonly device: string;
  /** Bytes. */
  readonly size: bigint;
  readonly inodes: bigint;
  readonly freeInodes: bigint;
}

/** @param proc `/proc`. */
export async function readFileSystem(directory: string, proc: string): Promise<FileSystem | undefined> {
  try {
    const path = await realpath(directory);
    const [stat, mounts] = await Promise.all([statfs(path, { bigint: true }), readMountInfo(`${proc}/self/mountinfo`)]);
    return {
      device: mountOf(path, mounts)?.source ?? '',
      size: stat.blocks * stat.bsize,
      inodes: stat.files,
      freeInodes: stat.ffree,
    };
  } catch {
    return undefined;
  }
}
