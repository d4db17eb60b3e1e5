import type { Descriptor } from '../services/images.js';
import type { Platform } from '../services/introspection.js';

/** What to pull, from where, as what. */
export interface PullRequest {
  /** Normalised: host, path, and a tag or digest, for example `docker.io/library/busybox:1.36`. */
  readonly reference: string;
  /** The image record's name. Default: `reference`. */
  readonly imageName?: string;
  /** The record's labels: replaced on every pull. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Must be among those that containerd's Transfer plugin is configured to unpack for. Default: nothing is unpacked, the layers stay as they are. */
  readonly snapshotter?: string;
  /** Default: this machine's (`hostPlatform`). */
  readonly platform?: Platform;
  /** The directory with `<host>/hosts.toml` files, as containerd's machine sees it. containerd's own `config_path` is not used here. */
  readonly hostDir?: string;
  /**
   * Asked for each host that wants authentication, mirrors too; nothing means anonymous. When it fails the pull goes on
   * anonymously, and when that fails too, the pull fails with its error.
   */
  readonly credentials?: (host: string, reference: string) => PullCredentials | undefined | Promise<PullCredentials | undefined>;
  /** Sent with every request to every configured host of the reference, mirrors too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Id of an existing lease of the caller's own. */
  readonly lease: string;
  readonly onProgress?: (progress: PullProgress) => void;
  /**
   * Milliseconds without a byte of a layer that is downloading, after which the pull is cancelled. Waiting for a download slot
   * (containerd's `max_concurrent_downloads` is daemon-wide) and unpacking do not count. Default: no limit.
   */
  readonly noProgressTimeoutMs?: number;
}

export type PullCredentials =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** An OAuth2 refresh token. */
  | { readonly kind: 'identity-token'; readonly token: string };

/** One of containerd's progress messages (containerd.types.transfer.Progress). */
export interface PullProgress {
  /** For example `waiting`, `downloading`, `complete`, `extracting`, `extracted`, `saved`, `Completed pull from OCI Registry`. */
  readonly event: string;
  readonly name: string;
  readonly parents: readonly string[];
  /** Bytes. */
  readonly progress: bigint;
  readonly total: bigint;
  readonly descriptor?: Descriptor;
}
