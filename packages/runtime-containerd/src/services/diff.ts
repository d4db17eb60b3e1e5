import type { CallOptions } from '../call-options.js';
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
