import { rmdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupsFrom, killIn } from '../runtime/cgroup-processes.js';
import { ownCgroups } from '../runtime/own-cgroups.js';
import { unmountAll } from '../runtime/mount-point.js';
import type { NodeFacts } from '../spec/index.js';
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
  const own = (await Promise.all((await ownCgroups(container, node, cgroups)).map(cgroupsFrom))).flat();
  const late = Date.now() + KILLED_MS;
  while ((await killIn(own)) > 0 && Date.now() < late) await pause(LOOK_MS);
  await unmountAll((mountPoint) => mountPoint.startsWith(`${directory}/`) || mountPoint.endsWith(`/${container.id}/criu-root`));
  // Where something is left the runtime's own deletion comes to it.
  for (const cgroup of own.reverse()) await rmdir(cgroup).catch(() => undefined);
}
