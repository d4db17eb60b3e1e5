import { dirname, join } from 'node:path';
import { unmount } from '../../runtime/mount.js';
import { removeMountPoint } from '../../runtime/mount-point.js';
import { readMountInfo } from '../../spec/index.js';
import { isObjectId } from '../../state/object-id.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';

/** What is mounted below criquet's directories, but for pinned namespaces. */
export function mountHoldings({ layout, roots }: AuditedNode): HoldingSource {
  const parents = [layout.sandboxState('id'), layout.imageVolumes('id'), layout.checkpoint('id')].map((path) => `${dirname(path)}/`);
  return {
    kind: 'mount',
    async list() {
      const mounts = await readMountInfo(join(roots.proc, 'self/mountinfo'));
      // The last one mounted may lie on an earlier one.
      const mountPoints = new Set(mounts.map(({ mountPoint }) => mountPoint).reverse());
      return [...mountPoints].flatMap((mountPoint): Holding[] => {
        // Images are looked into by the living daemon only: at its start it took away what was mounted there.
        if (dirname(mountPoint) === layout.lookup) {
          return [{ kind: 'mount', name: mountPoint, owner: { daemon: 'living' }, certain: true, remove: () => removeMountPoint(mountPoint) }];
        }
        const parent = parents.find((path) => mountPoint.startsWith(path));
        const id = parent === undefined ? '' : (mountPoint.slice(parent.length).split('/')[0] ?? '');
        if (!isObjectId(id)) return [];
        return [{ kind: 'mount', name: mountPoint, owner: { object: id }, certain: true, remove: () => unmount(mountPoint) }];
      });
    },
  };
}
