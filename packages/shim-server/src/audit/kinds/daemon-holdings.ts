import type { AuditedNode, DaemonHoldings } from '../audited-node.js';
import type { HoldingKind, HoldingSource } from '../holding.js';

/** Logs that the running daemon has open, each for a container. */
export function logHandleHoldings(node: AuditedNode): HoldingSource {
  return heldByDaemon('log-handle', 'logs', node);
}

/** URLs of Exec, Attach and PortForward that the running daemon has given out and nobody has used yet. */
export function streamTokenHoldings(node: AuditedNode): HoldingSource {
  return heldByDaemon('stream-token', 'streamTokens', node);
}

function heldByDaemon(kind: HoldingKind, held: keyof DaemonHoldings, { daemonHoldings, forget }: AuditedNode): HoldingSource {
  return {
    kind,
    list: async (signal) =>
      (await daemonHoldings(signal))[held].map(({ owner, name }) => ({
        kind,
        name,
        owner: { object: owner },
        certain: true,
        remove: (ending) => forget(owner, ending),
      })),
  };
}
