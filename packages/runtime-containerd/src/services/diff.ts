import type { CallOptions } from '../call-options.js';
import { DiffService } from '../gen/services/diff/v1/diff.js';
import type { Channel } from '../grpc/channel.js';
import { fromWireDescriptor, toWireDescriptor } from '../grpc/descriptor.js';
import { toWireMount } from '../grpc/mount.js';
import type { Descriptor } from './images.js';
import type { Mount } from './snapshots.js';

/** The diff service (containerd.services.diff.v1): layers to and from mounted snapshots. */
export interface Diff {
  /** Unpacks a layer onto mounts; resolves with the descriptor of the uncompressed layer. */
  apply(diff: Descriptor, mounts: readonly Mount[], options?: CallOptions & { readonly syncFs?: boolean }): Promise<Descriptor>;
  /** Stores the difference between two mounted trees as a layer blob. */
  diff(left: readonly Mount[], right: readonly Mount[], options?: CallOptions & DiffOptions): Promise<Descriptor>;
}

export interface DiffOptions {
  /** Default: the server's, an OCI gzip layer. */
  readonly mediaType?: string;
  /** Name of the ingest. */
  readonly ref?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export function diffService(channel: Channel): Diff {
  return {
    async apply(diff, mounts, { syncFs = false, ...options } = {}) {
      const request = { diff: toWireDescriptor(diff), mounts: mounts.map(toWireMount), payloads: {}, syncFs };
      const { applied } = await channel.unary(DiffService.apply, request, options);
      return fromWireDescriptor(applied);
    },
    async diff(left, right, { mediaType = '', ref = '', labels = {}, ...options } = {}) {
      const request = {
        left: left.map(toWireMount),
        right: right.map(toWireMount),
        mediaType,
        ref,
        labels,
        sourceDateEpoch: undefined,
      };
      const { diff } = await channel.unary(DiffService.diff, request, options);
      return fromWireDescriptor(diff);
    },
  };
}
