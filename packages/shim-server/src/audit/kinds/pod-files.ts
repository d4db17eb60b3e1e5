import { dirname } from 'node:path';
import type { AuditedNode } from '../audited-node.js';
import type { HoldingSource } from '../holding.js';
import { objectDirectories } from './object-directories.js';

/** hosts, hostname and resolv.conf of pods, and the directories that their shared memory is mounted in. */
export function podFileHoldings({ layout }: AuditedNode): HoldingSource {
  const parents = [layout.sandboxFiles('id'), layout.sandboxState('id')].map((path) => dirname(path));
  return {
    kind: 'pod-files',
    list: async () => (await Promise.all([...new Set(parents)].map((parent) => objectDirectories('pod-files', parent)))).flat(),
  };
}
