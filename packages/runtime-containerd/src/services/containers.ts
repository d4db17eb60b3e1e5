import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';

/** The containers service (containerd.services.containers.v1): records, nothing that runs. */
export interface Containers {
  /** @throws ContainerdError NOT_FOUND */
  get(id: string, options?: CallOptions): Promise<ContainerRecord>;
  /**
   * Filters such as `id==x`, `labels."key"==value`, `id~=^ab`; several are alternatives, a comma means "and".
   * @throws ContainerdError RESOURCE_EXHAUSTED beyond 16 MiB; `stream` has no such limit
   */
  list(filters?: readonly string[], options?: CallOptions): Promise<ContainerRecord[]>;
  /** `list` record by record (ListStream). */
  stream(filters?: readonly string[], options?: CallOptions): AsyncIterable<ContainerRecord>;
  /**
   * containerd insists on `runtime.name` and `spec`; a label (key and value together) has at most 4096 bytes.
   * @throws ContainerdError ALREADY_EXISTS, INVALID_ARGUMENT
   */
  create(record: NewContainer, options?: CallOptions): Promise<ContainerRecord>;
  /** `fields`: any of `labels`, `labels.KEY`, `spec`, `extensions`, `extensions.KEY`, `image`, `snapshotkey`. */
  update(
    record: Partial<NewContainer> & { readonly id: string },
    fields: readonly string[],
    options?: CallOptions,
  ): Promise<ContainerRecord>;
  /** @throws ContainerdError NOT_FOUND */
  delete(id: string, options?: CallOptions): Promise<void>;
}

export interface NewContainer {
  readonly id: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The image's name; '' for none. */
  readonly image?: string;
  readonly runtime: ContainerRuntime;
  readonly spec: Any;
  /** Cannot be changed later. */
  readonly snapshotter?: string;
  readonly snapshotKey?: string;
  readonly extensions?: Readonly<Record<string, Any>>;
  readonly sandbox?: string;
}

export interface ContainerRuntime {
  /** For example `io.containerd.runc.v2`. */
  readonly name: string;
  readonly options?: Any;
}

export interface ContainerRecord {
  readonly id: string;
  readonly labels: Record<string, string>;
  readonly image: string;
  readonly runtime: ContainerRuntime;
  readonly spec?: Any;
  readonly snapshotter: string;
  readonly snapshotKey: string;
  readonly extensions: Record<string, Any>;
  readonly sandbox: string;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
}
