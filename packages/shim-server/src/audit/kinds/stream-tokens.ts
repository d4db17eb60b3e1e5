import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';

/** URLs of Exec, Attach and PortForward that the running daemon has given out and nobody has used yet. */
export function streamTokenHoldings({ daemonHoldings, forget }: AuditedNode): HoldingSource {
  return {
    kind: 'stream-token',
    list: async (signal) =>
      (await daemonHoldings(signal)).streamTokens.map(({ owner, name }) => ({
        kind: 'stream-token',
        name,
        owner: { object: owner },
        certain: true,
        remove: (ending) => forget(owner, ending),
      })),
  };
}
