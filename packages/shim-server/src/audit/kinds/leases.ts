import { ignoreNotFound } from '../../runtime/already-gone.js';
import { DAEMON_LABEL, OWNER_LABEL } from '../../state/owner-labels.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';

/** Leases with criquet's labels. With one goes what only it holds: containerd then collects half-pulled layers and their ingests. */
export function leaseHoldings({ containerd: { leases } }: AuditedNode): HoldingSource {
  return {
    kind: 'lease',
    async list(signal) {
      const all = await leases.list([`labels."${DAEMON_LABEL}"`, `labels."${OWNER_LABEL}"`], { signal });
      return all.map(({ id, labels }): Holding => {
        const { [DAEMON_LABEL]: daemon, [OWNER_LABEL]: object = '' } = labels;
        const owner = daemon === undefined ? { object } : { daemon };
        return { kind: 'lease', name: id, owner, certain: true, remove: (ending) => leases.delete(id, { signal: ending }).catch(ignoreNotFound) };
      });
    },
  };
}
