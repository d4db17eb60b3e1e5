import { readdir, rmdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupDirectory, type NodeFacts } from '../spec/index.js';
import { cgroupsFrom, killIn } from './cgroup-processes.js';

const LOOK_MS = 50;

/** What names a cgroup: a sandbox's or container's record. */
export interface CgroupOwner {
  readonly id: string;
  readonly cgroupsPath: string;
}

/** The directories of a sandbox's or container's cgroup, one in every hierarchy; none where it is not certainly its alone. */
export async function ownCgroups({ id, cgroupsPath }: CgroupOwner, node: Pick<NodeFacts, 'cgroup'>, root: string): Promise<string[]> {
  if (!cgroupsPath.includes(id)) return [];
  const hierarchies = node.cgroup === 'v2' ? [''] : await readdir(root).catch(() => []);
  return hierarchies.map((name) => cgroupDirectory(cgroupsPath, node, name, root));
}

/**
 * Before a record goes: the cgroup that the OCI runtime should have removed with the task. Nothing is killed here.
 * @throws EBUSY while processes are in it
 */
export async function removeEmptyCgroups(directories: readonly string[]): Promise<void> {
  for (const directory of directories) {
    await rmdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EBUSY') throw error;
    });
  }
}

/** Kills what is in cgroups and those below them, and removes them; those that are gone are fine. @throws the signal's reason */
export async function removeCgroups(directories: readonly string[], signal?: AbortSignal): Promise<void> {
  const cgroups = (await Promise.all(directories.map(cgroupsFrom))).flat();
  while ((await killIn(cgroups)) > 0) await pause(LOOK_MS, undefined, signal === undefined ? {} : { signal });
  for (const cgroup of cgroups.reverse()) {
    await rmdir(cgroup).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
}
