import type { AuditedNode } from './audited-node.js';
import type { HoldingSource } from './holding.js';
import { cgroupHoldings } from './kinds/cgroups.js';
import { checkpointHoldings } from './kinds/checkpoints.js';
import { attachmentHoldings } from './kinds/cni-attachments.js';
import { containerRecordHoldings } from './kinds/container-records.js';
import { logHandleHoldings, streamTokenHoldings } from './kinds/daemon-holdings.js';
import { declaredVolumeHoldings } from './kinds/declared-volumes.js';
import { fifoHoldings } from './kinds/fifo-directories.js';
import { imageVolumeHoldings } from './kinds/image-volumes.js';
import { reservationHoldings } from './kinds/ipam-reservations.js';
import { leaseHoldings } from './kinds/leases.js';
import { mountHoldings } from './kinds/mounts.js';
import { netnsHoldings, usernsHoldings } from './kinds/namespace-pins.js';
import { podFileHoldings } from './kinds/pod-files.js';
import { sandboxHoldings } from './kinds/sandboxes.js';
import { shimHoldings } from './kinds/shim-processes.js';
import { snapshotHoldings } from './kinds/snapshots.js';
import { taskHoldings } from './kinds/tasks.js';

const KINDS = [
  logHandleHoldings,
  streamTokenHoldings,
  containerRecordHoldings,
  sandboxHoldings,
  taskHoldings,
  shimHoldings,
  attachmentHoldings,
  reservationHoldings,
  mountHoldings,
  netnsHoldings,
  usernsHoldings,
  fifoHoldings,
  imageVolumeHoldings,
  snapshotHoldings,
  leaseHoldings,
  declaredVolumeHoldings,
  checkpointHoldings,
  podFileHoldings,
  cgroupHoldings,
];

/** One for each kind of holding. */
export function holdingSources(node: AuditedNode): HoldingSource[] {
  return KINDS.map((kind) => kind(node));
}
