import { dirname } from 'node:path';
import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';
import { objectDirectories } from './object-directories.js';

/** The volumes that a container's image declares. */
export function declaredVolumeHoldings({ layout }: AuditedNode): HoldingSource {
  return { kind: 'declared-volumes', list: () => objectDirectories('declared-volumes', dirname(layout.declaredVolumes('id'))) };
}
