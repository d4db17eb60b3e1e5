import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';

/** Logs that the running daemon has open, each for a container. */
export function logHandleHoldings({ daemonHoldings, forget }: AuditedNode): HoldingSource {
  return {
    kind: 'log-handle',
    list: async (signal) =>
      (await daemonHoldings(signal)).logs.map(({ owner, name }) => ({
        kind: 'log-handle',
        name,
        owner: { object: owner },
        certain: true,
        remove: (ending) => forget(owner, ending),
      })),
  };
}
