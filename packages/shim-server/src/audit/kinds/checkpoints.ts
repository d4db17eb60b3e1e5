import { dirname } from 'node:path';
import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';
import { objectDirectories } from './object-directories.js';

/** What a checkpoint is put together from, or a container restored from. */
export function checkpointHoldings({ layout }: AuditedNode): HoldingSource {
  return { kind: 'checkpoint', list: () => objectDirectories('checkpoint', dirname(layout.checkpoint('id'))) };
}
