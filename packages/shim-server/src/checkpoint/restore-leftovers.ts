import { unmountAll } from '../runtime/mount-point.js';
import type { OwnCgroups } from '../runtime/own-cgroups.js';
import type { ContainerRecord } from '../state/container-record.js';

/**
 * Ends a restore that did not succeed. CRIU works in the container's own cgroup, waits there for ever for a process that died of a damaged
 * image, and leaves its mounts and the cgroup when it is killed; runc leaves the mount of CRIU's root in its state directory.
 *
 * @param directory where the restore works, below which its mounts are
 */
export async function endRestore(container: ContainerRecord, directory: string, cgroups: OwnCgroups): Promise<void> {
  // Where something is left the runtime's own deletion comes to it.
  await cgroups.remove(container).catch(() => undefined);
  await unmountAll((mountPoint) => mountPoint.startsWith(`${directory}/`) || mountPoint.endsWith(`/${container.id}/criu-root`));
}
