import type { CallOptions } from '../call-options.js';
import { Lease as WireLease, LeasesService } from '../gen/services/leases/v1/leases.js';
import type { Channel } from '../grpc/channel.js';
import { toNanos } from '../grpc/timestamp.js';

/** The leases service (containerd.services.leases.v1): what keeps content and snapshots from garbage collection. */
export interface Leases {
  /**
   * An empty or missing `id` lets containerd choose one. Label `containerd.io/gc.expire` (RFC 3339) ends the lease by itself.
   * @throws ContainerdError ALREADY_EXISTS
   */
  create(lease: { readonly id?: string; readonly labels?: Readonly<Record<string, string>> }, options?: CallOptions): Promise<Lease>;
  /** `sync` waits for the garbage collection that follows. @throws ContainerdError NOT_FOUND */
  delete(id: string, options?: CallOptions & { readonly sync?: boolean }): Promise<void>;
  /** Filters such as `id==x` or `labels."key"==value`; several are alternatives. */
  list(filters?: readonly string[], options?: CallOptions): Promise<Lease[]>;
  addResource(leaseId: string, resource: LeaseResource, options?: CallOptions): Promise<void>;
  removeResource(leaseId: string, resource: LeaseResource, options?: CallOptions): Promise<void>;
  resources(leaseId: string, options?: CallOptions): Promise<LeaseResource[]>;
}

export interface Lease {
  readonly id: string;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly labels: Record<string, string>;
}

export interface LeaseResource {
  /** A digest, an ingest's reference, or a snapshot's key. */
  readonly id: string;
  /** `content`, `ingests` or `snapshots/<snapshotter>`. */
  readonly type: string;
}

/** containerd's label for the time at which a lease ends by itself (RFC 3339). */
export const leaseExpireLabel = 'containerd.io/gc.expire';

export function leasesService(channel: Channel): Leases {
  return {
    async create({ id = '', labels = {} }, options) {
      const { lease } = await channel.unary(LeasesService.create, { id, labels }, options);
      return leaseRecord(lease ?? WireLease.fromPartial({ id, labels }));
    },
    async delete(id, { sync = false, ...options } = {}) {
      await channel.unary(LeasesService.delete, { id, sync }, options);
    },
    async list(filters = [], options) {
      const { leases } = await channel.unary(LeasesService.list, { filters: [...filters] }, options);
      return leases.map(leaseRecord);
    },
    async addResource(leaseId, resource, options) {
      await channel.unary(LeasesService.addResource, { id: leaseId, resource }, options);
    },
    async removeResource(leaseId, resource, options) {
      await channel.unary(LeasesService.deleteResource, { id: leaseId, resource }, options);
    },
    async resources(leaseId, options) {
      const { resources } = await channel.unary(LeasesService.listResources, { id: leaseId }, options);
      return resources.map(({ id, type }) => ({ id, type }));
    },
  };
}

function leaseRecord({ id, labels, createdAt }: WireLease): Lease {
  return { id, labels, createdAt: toNanos(createdAt) };
}
