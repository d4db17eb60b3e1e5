import type { Container } from '../gen/services/containers/v1/containers.js';
import type { Info as ContentInfo, Status as IngestStatus } from '../gen/services/content/v1/content.js';
import type { Image } from '../gen/services/images/v1/images.js';
import type { Lease, Resource } from '../gen/services/leases/v1/leases.js';
import type { Info as SnapshotInfo } from '../gen/services/snapshots/v1/snapshots.js';
import type { Sandbox } from '../gen/types/sandbox.js';
import { notFound } from './fake-status.js';
import type { FakeTask } from './fake-task.js';

export interface Blob {
  info: ContentInfo;
  readonly data: Buffer;
}

export interface Ingest {
  status: IngestStatus;
  data: Buffer;
}

export interface Snapshot {
  info: SnapshotInfo;
  /** A directory with the snapshot's files, its parents' included. */
  readonly dir: string;
}

export interface LeaseState {
  readonly lease: Lease;
  readonly resources: Resource[];
}

/** All that containerd keeps in one namespace. */
export class NamespaceState {
  readonly containers = new Map<string, Container>();
  readonly sandboxes = new Map<string, Sandbox>();
  readonly tasks = new Map<string, FakeTask>();
  readonly images = new Map<string, Image>();
  readonly blobs = new Map<string, Blob>();
  readonly ingests = new Map<string, Ingest>();
  readonly leases = new Map<string, LeaseState>();
  /** By snapshotter and key. */
  readonly snapshots = new Map<string, Map<string, Snapshot>>();
  labels: Record<string, string> = {};

  constructor(readonly name: string) {}

  snapshotsOf(snapshotter: string): Map<string, Snapshot> {
    const known = this.snapshots.get(snapshotter);
    if (known !== undefined) return known;
    const created = new Map<string, Snapshot>();
    this.snapshots.set(snapshotter, created);
    return created;
  }

  /** @throws FakeStatus NOT_FOUND when a call names a lease that is not there */
  checkLease(lease: string): void {
    if (lease !== '' && !this.leases.has(lease)) throw notFound(`lease ${JSON.stringify(lease)}`);
  }

  /** Puts what a call creates under the call's lease. */
  hold(lease: string, resource: Resource): void {
    const state = this.leases.get(lease);
    if (state === undefined) return;
    if (!state.resources.some(({ id, type }) => id === resource.id && type === resource.type)) state.resources.push(resource);
  }

  /** Takes from the call's lease what the call has removed. */
  release(lease: string, resource: Resource): void {
    const resources = this.leases.get(lease)?.resources ?? [];
    const at = resources.findIndex(({ id, type }) => id === resource.id && type === resource.type);
    if (at >= 0) resources.splice(at, 1);
  }
}
