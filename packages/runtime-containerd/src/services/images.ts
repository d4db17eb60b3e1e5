import type { CallOptions } from '../call-options.js';

/** The images service (containerd.services.images.v1): names for content. */
export interface Images {
  /** @throws ContainerdError NOT_FOUND */
  get(name: string, options?: CallOptions): Promise<ImageRecord>;
  /** Filters such as `name==docker.io/library/x:1`, `target.digest==sha256:…`, `labels."key"`; several are alternatives. */
  list(filters?: readonly string[], options?: CallOptions): Promise<ImageRecord[]>;
  /** @throws ContainerdError ALREADY_EXISTS */
  create(image: NewImage, options?: CallOptions): Promise<ImageRecord>;
  /** `fields`: any of `labels`, `labels.KEY`, `target`, `annotations`; none of them replaces labels and target. */
  update(image: NewImage, fields?: readonly string[], options?: CallOptions): Promise<ImageRecord>;
  /** `sync` waits for the garbage collection that follows. `target`: delete only while the name points to this digest. */
  delete(name: string, options?: CallOptions & { readonly sync?: boolean; readonly target?: Descriptor }): Promise<void>;
}

/** A content descriptor as containerd's gRPC API has it (containerd.types.Descriptor). */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** Bytes. */
  readonly size: bigint;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface NewImage {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly target: Descriptor;
}

export interface ImageRecord {
  readonly name: string;
  readonly labels: Record<string, string>;
  /** The index or manifest the name stands for. */
  readonly target: Descriptor;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
}
