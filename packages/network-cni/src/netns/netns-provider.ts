import type { Readable, Writable } from 'node:stream';

/** A TCP connection, its directions apart: one that fails leaves what the other still has to deliver. */
export interface NetnsConnection {
  readonly input: Readable;
  /** Its end is a half-close. */
  readonly output: Writable;
}

/** A range of ids of a user namespace and what they are outside of it, as CRI's IDMapping. */
export interface IdMapping {
  readonly containerId: number;
  readonly hostId: number;
  /** At least 1. */
  readonly length: number;
}

/** A user namespace that is to own the network namespace. */
export interface NetnsUserns {
  /** Where it is pinned; a `release` of its own removes it. */
  readonly path: string;
  /** Id 0 is among them: the effective user id that the namespace is made with is what it is outside. */
  readonly uids: readonly IdMapping[];
  readonly gids: readonly IdMapping[];
}

export interface CreateNetnsOptions {
  /** Default: the daemon's own user namespace. */
  readonly userns?: NetnsUserns;
  /** Network sysctls by name (`net.ipv4.ip_forward`), written inside the new namespace before it is pinned. */
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Checked before the work begins; the work itself takes about a millisecond and is not interrupted. */
  readonly signal?: AbortSignal;
}

/** Makes and removes pinned network namespaces, and the user namespaces that own them. */
export interface NetnsProvider {
  /**
   * Makes a network namespace with `lo` up and pins it at `path` by a bind mount. Makes the parent directory where it is absent.
   * Fails with NetnsError (`EEXIST`) when `path` is there already; leaves nothing behind when it fails. With `userns` the same is true
   * of that one and its pin, and both are made in a child process, since no thread of a multithreaded one can be in another user namespace.
   */
  create(path: string, options?: CreateNetnsOptions): Promise<void>;
  /** Unmounts and removes the pin of a network or user namespace. Succeeds when it is gone already or is a plain file. */
  release(path: string): Promise<void>;
  /** Whether a namespace is pinned at `path`; false for a plain file and for nothing. */
  exists(path: string): Promise<boolean>;
  /**
   * Connects with a TCP port on the loopback of the namespace that is pinned at `path`, on 127.0.0.1 and, when nobody listens there, on ::1.
   * Without a path it is the daemon's own namespace. Fails with NetnsError (`ECONNREFUSED`, `ETIMEDOUT` after 10 seconds).
   */
  connect(path: string | undefined, port: number): Promise<NetnsConnection>;
  /** Ends what the provider runs; pins stay. */
  close(): Promise<void>;
}

/** A step of making or removing a namespace that failed. */
export class NetnsError extends Error {
  override readonly name = 'NetnsError';

  constructor(
    /** The step, e.g. `unshare`, `bring lo up`, `sysctl net.ipv4.ip_forward`, `pin`, `worker`. */
    readonly step: string,
    readonly path: string,
    /** errno name (`EPERM`), or empty. */
    readonly code: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(`network namespace ${path || 'of the host'}: ${step}: ${reason}`, options);
  }
}
