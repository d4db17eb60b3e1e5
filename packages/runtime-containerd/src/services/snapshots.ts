import type { CallOptions } from '../call-options.js';
import { Info, Kind, SnapshotsService } from '../gen/services/snapshots/v1/snapshots.js';
import type { Channel } from '../grpc/channel.js';
import { fromWireMount } from '../grpc/mount.js';
import { toNanos } from '../grpc/timestamp.js';

/** The snapshots service (containerd.services.snapshots.v1). Every call names the snapshotter, for example `overlayfs`. */
export interface Snapshots {
  /**
   * A writable snapshot on `parent` ('' for none).
   * @throws ContainerdError ALREADY_EXISTS the key, NOT_FOUND the parent
   */
  prepare(snapshotter: string, key: string, parent: string, options?: CallOptions & SnapshotLabels): Promise<Mount[]>;
  /** A read-only snapshot on `parent`. */
  view(snapshotter: string, key: string, parent: string, options?: CallOptions & SnapshotLabels): Promise<Mount[]>;
  /** How to mount an active or view snapshot. */
  mounts(snapshotter: string, key: string, options?: CallOptions): Promise<Mount[]>;
  stat(snapshotter: string, key: string, options?: CallOptions): Promise<SnapshotInfo>;
  /** Replaces all labels, or only those named by `fields` (`labels.KEY`). */
  update(
    snapshotter: string,
    key: string,
    labels: Readonly<Record<string, string>>,
    fields?: readonly string[],
    options?: CallOptions,
  ): Promise<SnapshotInfo>;
  /** Filters such as `kind==active`, `name==x`, `parent==y`; several are alternatives. */
  list(snapshotter: string, filters?: readonly string[], options?: CallOptions): AsyncIterable<SnapshotInfo>;
  /** The snapshot's own part, without its parents. For an active snapshot the snapshotter may have to walk the files. */
  usage(snapshotter: string, key: string, options?: CallOptions): Promise<SnapshotUsage>;
  commit(snapshotter: string, name: string, key: string, options?: CallOptions & SnapshotLabels): Promise<void>;
  /** @throws ContainerdError FAILED_PRECONDITION while it has children */
  remove(snapshotter: string, key: string, options?: CallOptions): Promise<void>;
  /** Frees what removed snapshots left on disk. */
  cleanup(snapshotter: string, options?: CallOptions): Promise<void>;
}

export interface SnapshotLabels {
  readonly labels?: Readonly<Record<string, string>>;
}

/** A mount as containerd describes it (containerd.types.Mount). */
export interface Mount {
  readonly type: string;
  readonly source: string;
  /** Below the root file system; '' is the root itself. */
  readonly target: string;
  readonly options: readonly string[];
}

export type SnapshotKind = 'unknown' | 'view' | 'active' | 'committed';

export interface SnapshotInfo {
  readonly name: string;
  readonly parent: string;
  readonly kind: SnapshotKind;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
  readonly labels: Record<string, string>;
}

export interface SnapshotUsage {
  /** Bytes. */
  readonly size: bigint;
  readonly inodes: bigint;
}

export function snapshotsService(channel: Channel): Snapshots {
  return {
    async prepare(snapshotter, key, parent, { labels = {}, ...options } = {}) {
      const { mounts } = await channel.unary(SnapshotsService.prepare, { snapshotter, key, parent, labels }, options);
      return mounts.map(fromWireMount);
    },
    async view(snapshotter, key, parent, { labels = {}, ...options } = {}) {
      const { mounts } = await channel.unary(SnapshotsService.view, { snapshotter, key, parent, labels }, options);
      return mounts.map(fromWireMount);
    },
    async mounts(snapshotter, key, options) {
      const { mounts } = await channel.unary(SnapshotsService.mounts, { snapshotter, key }, options);
      return mounts.map(fromWireMount);
    },
    async stat(snapshotter, key, options) {
      return snapshotInfo(await channel.unary(SnapshotsService.stat, { snapshotter, key }, options));
    },
    async update(snapshotter, key, labels, fields = [], options) {
      const info = Info.fromPartial({ name: key, labels });
      const updateMask = fields.length === 0 ? ['labels'] : [...fields];
      return snapshotInfo(await channel.unary(SnapshotsService.update, { snapshotter, info, updateMask }, options));
    },
    async *list(snapshotter, filters = [], options) {
      for await (const { info } of channel.serverStream(
        SnapshotsService.list,
        { snapshotter, filters: [...filters] },
        options,
      )) {
        for (const item of info) yield snapshotInfo({ info: item });
      }
    },
    async usage(snapshotter, key, options) {
      const { size, inodes } = await channel.unary(SnapshotsService.usage, { snapshotter, key }, options);
      return { size, inodes };
    },
    async commit(snapshotter, name, key, { labels = {}, ...options } = {}) {
      await channel.unary(SnapshotsService.commit, { snapshotter, name, key, labels, parent: '' }, options);
    },
    async remove(snapshotter, key, options) {
      await channel.unary(SnapshotsService.remove, { snapshotter, key }, options);
    },
    async cleanup(snapshotter, options) {
      await channel.unary(SnapshotsService.cleanup, { snapshotter }, options);
    },
  };
}

const kinds: Readonly<Record<number, SnapshotKind>> = {
  [Kind.VIEW]: 'view',
  [Kind.ACTIVE]: 'active',
  [Kind.COMMITTED]: 'committed',
};

function snapshotInfo(reply: { info: Info | undefined }): SnapshotInfo {
  const { name, parent, kind, createdAt, updatedAt, labels } = reply.info ?? Info.fromPartial({});
  return { name, parent, kind: kinds[kind] ?? 'unknown', createdAt: toNanos(createdAt), updatedAt: toNanos(updatedAt), labels };
}
