import { readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { killProcess } from '../runtime/kill-process.js';
import { unmountAll } from '../runtime/mount-point.js';
import { cgroupDirectory, type NodeFacts } from '../spec/index.js';
import type { ContainerRecord } from '../state/container-record.js';

/** How long killed processes may take to be gone, and how often that is looked at. */
const KILLED_MS = 5_000;
const LOOK_MS = 50;

/**
 * Ends a restore that did not succeed. CRIU works in the container's own cgroup, waits there for ever for a process that died of a damaged
 * image, and leaves its mounts and the cgroup when it is killed; runc leaves the mount of CRIU's root in its state directory.
 *
 * @param directory where the restore works, below which its mounts are
 * @param cgroups the cgroup mount, `/sys/fs/cgroup`
 */
export async function endRestore(container: ContainerRecord, directory: string, node: Pick<NodeFacts, 'cgroup'>, cgroups: string): Promise<void> {
  const own = await cgroupsOf(container, node, cgroups);
  const late = Date.now() + KILLED_MS;
  while ((await killAll(own)) > 0 && Date.now() < late) await pause(LOOK_MS);
  await unmountAll((mountPoint) => mountPoint.startsWith(`${directory}/`) || mountPoint.endsWith(`/${container.id}/criu-root`));
  // Where something is left the runtime's own deletion comes to it.
  for (const cgroup of own.reverse()) await rmdir(cgroup).catch(() => undefined);
}

/** The container's cgroup in every hierarchy with those below it, which come after it. */
async function cgroupsOf({ id, cgroupsPath }: ContainerRecord, node: Pick<NodeFacts, 'cgroup'>, root: string): Promise<string[]> {
  // Nothing but a cgroup that is certainly this container's alone.
  if (!cgroupsPath.includes(id)) return [];
  const hierarchies = node.cgroup === 'v2' ? [''] : await readdir(root).catch(() => []);
  const found = await Promise.all(hierarchies.map((name) => withBelow(cgroupDirectory(cgroupsPath, node, name, root))));
  return found.flat();
}

async function withBelow(cgroup: string): Promise<string[]> {
  const entries = await readdir(cgroup, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const below = await Promise.all(entries.filter((entry) => entry.isDirectory()).map(({ name }) => withBelow(join(cgroup, name))));
  return [cgroup, ...below.flat()];
}

/** @returns how many processes there were */
async function killAll(cgroups: readonly string[]): Promise<number> {
  const pids = new Set<number>();
  for (const cgroup of cgroups) {
    const text = await readFile(join(cgroup, 'cgroup.procs'), 'utf8').catch(() => '');
    // A process of another pid namespace that cannot be named is 0.
    for (const pid of text.split('\n').map(Number)) if (pid > 1) pids.add(pid);
  }
  for (const pid of pids) killProcess(pid);
  if (pids.size > 0) await Promise.all(cgroups.map(thaw));
  return pids.size;
}

/** cgroup v1 delivers no signal to what is frozen. */
async function thaw(cgroup: string): Promise<void> {
  await writeFile(join(cgroup, 'freezer.state'), 'THAWED', { flag: 'r+' }).catch(() => undefined);
}
