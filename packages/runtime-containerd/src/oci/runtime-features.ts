/**
 * What an OCI runtime tells about itself (`runc features`; OCI runtime specification, features.md). Only what a caller decides by;
 * a runtime may leave out any of it.
 */
export interface RuntimeFeatures {
  readonly ociVersionMin?: string;
  readonly ociVersionMax?: string;
  /** Options of mounts it knows, for example `rro`. */
  readonly mountOptions?: readonly string[];
  readonly linux?: {
    /** Kinds of namespaces, for example `user`. */
    readonly namespaces?: readonly string[];
    readonly mountExtensions?: { readonly idmap?: { readonly enabled?: boolean } };
    /** Network interfaces of the node that are moved into a container. */
    readonly netDevices?: { readonly enabled?: boolean };
  };
  /** For example `org.opencontainers.runc.version`. */
  readonly annotations?: Readonly<Record<string, string>>;
}
