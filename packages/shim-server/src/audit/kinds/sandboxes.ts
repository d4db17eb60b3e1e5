import { ignoreNotFound } from '../../runtime/already-gone.js';
import { OWNER_LABEL } from '../../state/owner-labels.js';
import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';

/** What stands in containerd's sandbox store with criquet's label. */
export function sandboxHoldings({ containerd: { sandboxes } }: AuditedNode): HoldingSource {
  return {
    kind: 'sandbox',
    async list(signal) {
      const all = await sandboxes.list([`labels."${OWNER_LABEL}"`], { signal });
      return all.map(({ id, labels }) => ({
        kind: 'sandbox',
        name: id,
        owner: { object: labels[OWNER_LABEL] ?? '' },
        certain: true,
        remove: (ending) => sandboxes.delete(id, { signal: ending }).catch(ignoreNotFound),
      }));
    },
  };
}
