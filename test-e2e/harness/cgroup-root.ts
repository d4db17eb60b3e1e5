import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from './eventually.js';

const MOUNT = '/sys/fs/cgroup';

/**
 * Makes a cgroup of this name at the root of every hierarchy, as a kubelet wants to find its `cgroupRoot`. One of a cpuset hierarchy
 * gets the CPUs and memory nodes of its parent, without which nothing can run in it.
 */
export async function makeCgroupRoot(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    const path = join(hierarchy, name);
    await mkdir(path, { recursive: true });
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const all = await readFile(join(hierarchy, file), 'utf8').catch(() => undefined);
      if (all !== undefined) await writeFile(join(path, file), all);
    }
  }
}

/** Removes it with the empty cgroups that are below it; a process that is just ending is waited for. What cannot be removed stays. */
export async function removeCgroupRoot(name: string): Promise<void> {
  const paths = (await hierarchies()).map((hierarchy) => join(hierarchy, name));
  await eventually(async () => {
    for (const path of paths) await removeTree(path);
    if (paths.some((path) => existsSync(path))) throw new Error(`cgroup ${name} is in use`);
  }, 5_000).catch((error: unknown) => {
    process.emitWarning(error as Error);
  });
}

async function removeTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) await removeTree(join(path, entry.name));
  }
  await rmdir(path).catch(() => undefined);
}

/** The root of each cgroup v1 hierarchy, or the one of v2. */
async function hierarchies(): Promise<string[]> {
  const names = await readdir(MOUNT, { withFileTypes: true });
  if (names.some(({ name }) => name === 'cgroup.controllers')) return [MOUNT];
  return names.filter((entry) => entry.isDirectory()).map(({ name }) => join(MOUNT, name));
}
