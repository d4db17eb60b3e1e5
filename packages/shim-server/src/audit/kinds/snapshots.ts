import { removeSnapshot } from '../../runtime/already-gone.js';
import { OWNER_LABEL } from '../../state/owner-labels.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';

/** Snapshots with criquet's label: root file systems, images that are volumes, views of a checkpoint. */
export function snapshotHoldings({ containerd }: AuditedNode): HoldingSource {
  const { snapshots, introspection } = containerd;
  return {
    kind: 'snapshot',
    async list(signal) {
      const plugins = await introspection.plugins(['type==io.containerd.snapshotter.v1'], { signal });
      const snapshotters = plugins.filter(({ initError }) => initError === undefined).map(({ id }) => id);
      const found: Holding[] = [];
      for (const snapshotter of snapshotters) {
        for await (const { name, labels } of snapshots.list(snapshotter, [`labels."${OWNER_LABEL}"`], { signal })) {
          const owner = { object: labels[OWNER_LABEL] ?? '' };
          const remove = () => removeSnapshot(snapshots, snapshotter, name);
          found.push({ kind: 'snapshot', name: `${snapshotter}/${name}`, owner, certain: true, remove });
        }
      }
      return found;
    },
  };
}
