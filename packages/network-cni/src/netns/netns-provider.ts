import type { Readable, Writable } from 'node:stream';

/** A TCP connection, its directions apart: one that fails leaves what the other still has to deliver. */
export interface NetnsConnection {
  readonly input: Readable;
  /** Its end is a half-close. */
  readonly output: Writable;
}

export interface CreateNetnsOptions {
  /** Network sysctls by name (`net.ipv4.ip_forward`), written inside the new namespace before it is pinned. */
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Checked before the work begins; the work itself takes about a millisecond and is not interrupted. */
  readonly signal?: AbortSignal;
}

/**
 * Makes and removes pinned network namespaces.
 *
 * NetnsThread is the implementation for pods in the daemon's own user namespace. A pod with a user namespace of its own needs its
 * netns born inside that one, which no thread of a multithreaded process can enter: that will be a second implementation, which
 * asks a small helper child, behind this same interface.
 */
export interface NetnsProvider {
  /**
   * Makes a network namespace with `lo` up and pins it at `path` by a bind mount. Makes the parent directory where it is absent.
   * Fails with NetnsError (`EEXIST`) when `path` is there already; leaves nothing behind when it fails.
   */
  create(path: string, options?: CreateNetnsOptions): Promise<void>;
  /** Unmounts and removes the pin. Succeeds when it is gone already or is a plain file. */
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
