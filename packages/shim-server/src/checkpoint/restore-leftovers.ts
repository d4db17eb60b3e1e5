import { readdir, rmdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupsFrom, killIn } from '../runtime/cgroup-processes.js';
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
  while ((await killIn(own)) > 0 && Date.now() < late) await pause(LOOK_MS);
  await unmountAll((mountPoint) => mountPoint.startsWith(`${directory}/`) || mountPoint.endsWith(`/${container.id}/criu-root`));
  // Where something is left the runtime's own deletion comes to it.
  for (const cgroup of own.reverse()) await rmdir(cgroup).catch(() => undefined);
}

/** The container's cgroup in every hierarchy with those below it, which come after it. */
async function cgroupsOf({ id, cgroupsPath }: ContainerRecord, node: Pick<NodeFacts, 'cgroup'>, root: string): Promise<string[]> {
  // Nothing but a cgroup that is certainly this container's alone.
  if (!cgroupsPath.includes(id)) return [];
  const hierarchies = node.cgroup === 'v2' ? [''] : await readdir(root).catch(() => []);
  const found = await Promise.all(hierarchies.map((name) => cgroupsFrom(cgroupDirectory(cgroupsPath, node, name, root))));
  return found.flat();
}
