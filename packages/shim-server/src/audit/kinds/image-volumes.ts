import { dirname } from 'node:path';
import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';
import { objectDirectories } from './object-directories.js';

/** The mount points of the images that are volumes of a container. */
export function imageVolumeHoldings({ layout }: AuditedNode): HoldingSource {
  return { kind: 'image-volumes', list: () => objectDirectories('image-volumes', dirname(layout.imageVolumes('id'))) };
}
