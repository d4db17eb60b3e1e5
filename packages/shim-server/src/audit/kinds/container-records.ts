import { containerCodec } from '../../state/container-record.js';
import { LEFTOVER_LABEL } from '../../state/owner-labels.js';
import { KIND_LABEL } from '../../state/record-labels.js';
import { sandboxCodec } from '../../state/sandbox-record.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';
import type { ContainerRecord } from '@criquet/runtime-containerd';

/** criquet's records in containerd: a sandbox belongs to itself, a container to its sandbox. */
export function containerRecordHoldings({ containerd: { containers }, removeContainer }: AuditedNode): HoldingSource {
  return {
    kind: 'container',
    async list(signal) {
      const found: Holding[] = [];
      for await (const record of containers.stream([`labels."${KIND_LABEL}"`, `labels."${LEFTOVER_LABEL}"`], { signal })) {
        const owner = ownerOf(record);
        if (owner === undefined) continue;
        found.push({ kind: 'container', name: record.id, owner: { object: owner }, certain: true, remove: (ending) => removeContainer(record.id, ending) });
      }
      return found;
    },
  };
}

/** undefined for a record of somebody else; that of a lost task is an owner to nothing, not even to itself. One that cannot be read belongs to itself: it is shown over CRI and can be removed. */
function ownerOf({ id, extensions, labels }: ContainerRecord): string | undefined {
  if (LEFTOVER_LABEL in labels || extensions[sandboxCodec.key] !== undefined) return id;
  const extension = extensions[containerCodec.key];
  if (extension === undefined) return undefined;
  try {
    return containerCodec.decode(extension).sandboxId;
  } catch {
    return id;
  }
}
