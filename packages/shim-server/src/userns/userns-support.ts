import { REMAP_IDS, type ContainerdReport } from '@criquet/runtime-containerd';
import type { RuntimeHandler } from '../runtime/runtime-handlers.js';

/**
 * Why pods of a runtime handler cannot have user namespaces; undefined where they can. Without mounts with ids mapped their root file systems
 * and volumes would belong to nobody; copying them for each pod with changed owners, as containerd's client can, is not done.
 */
export function usernsObstacle(
  { features, snapshotter }: Pick<RuntimeHandler, 'features' | 'snapshotter'>,
  { snapshotters }: Pick<ContainerdReport, 'snapshotters'>,
): string | undefined {
  if (!features.userNamespaces) return 'the runtime handler, or the kernel, has no user namespaces';
  if (!features.idmappedMounts) return 'the runtime handler, or the kernel, cannot make mounts with ids mapped';
  if (snapshotters.get(snapshotter)?.capabilities.includes(REMAP_IDS) !== true) return `the snapshotter ${snapshotter} cannot map ids on this node`;
  return undefined;
}
