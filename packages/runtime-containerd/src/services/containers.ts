import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { Container, ContainersService } from '../gen/services/containers/v1/containers.js';
import { fromWireAny, toWireAny } from '../grpc/any.js';
import type { Channel } from '../grpc/channel.js';
import { toNanos } from '../grpc/timestamp.js';

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
   * containerd insists on `runtime.name` and `spec`; a label (key and value together) has at most 4096 bytes, and one with an
   * empty value is not kept.
   * @throws ContainerdError ALREADY_EXISTS, INVALID_ARGUMENT
   */
  create(record: NewContainer, options?: CallOptions): Promise<ContainerRecord>;
  /**
   * `fields`: any of `labels`, `labels.KEY`, `spec`, `extensions`, `extensions.KEY`, `image`, `snapshotkey`. A label with an
   * empty value is removed; an extension that is named but not given stays as an empty message.
   */
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

export function containersService(channel: Channel): Containers {
  return {
    async get(id, options) {
      return containerRecord(await channel.unary(ContainersService.get, { id }, options));
    },
    async list(filters = [], options) {
      const { containers } = await channel.unary(ContainersService.list, { filters: [...filters] }, options);
      return containers.map((container) => containerRecord({ container }));
    },
    async *stream(filters = [], options) {
      const replies = channel.serverStream(ContainersService.listStream, { filters: [...filters] }, options);
      for await (const reply of replies) yield containerRecord(reply);
    },
    async create(record, options) {
      return containerRecord(await channel.unary(ContainersService.create, { container: wireContainer(record) }, options));
    },
    async update(record, fields, options) {
      const request = { container: wireContainer(record), updateMask: [...fields] };
      return containerRecord(await channel.unary(ContainersService.update, request, options));
    },
    async delete(id, options) {
      await channel.unary(ContainersService.delete, { id }, options);
    },
  };
}

function wireContainer({ id, ...record }: Partial<NewContainer> & { readonly id: string }): Container {
  const { runtime, spec, extensions = {}, labels = {}, image = '', snapshotter = '', snapshotKey = '', sandbox = '' } = record;
  return Container.fromPartial({
    id,
    labels,
    image,
    snapshotter,
    snapshotKey,
    sandbox,
    extensions: mapAny(extensions, toWireAny),
    ...(runtime === undefined ? {} : { runtime: wireRuntime(runtime) }),
    ...(spec === undefined ? {} : { spec: toWireAny(spec) }),
  });
}

function wireRuntime({ name, options }: ContainerRuntime) {
  return { name, ...(options === undefined ? {} : { options: toWireAny(options) }) };
}

function containerRecord(reply: { container: Container | undefined }): ContainerRecord {
  const { runtime, spec, ...container } = reply.container ?? Container.fromPartial({});
  const options = runtime?.options;
  return {
    id: container.id,
    labels: container.labels,
    image: container.image,
    runtime: { name: runtime?.name ?? '', ...(options === undefined ? {} : { options: fromWireAny(options) }) },
    ...(spec === undefined ? {} : { spec: fromWireAny(spec) }),
    snapshotter: container.snapshotter,
    snapshotKey: container.snapshotKey,
    extensions: mapAny(container.extensions, fromWireAny),
    sandbox: container.sandbox,
    createdAt: toNanos(container.createdAt),
    updatedAt: toNanos(container.updatedAt),
  };
}

function mapAny<From, To>(map: Readonly<Record<string, From>>, convert: (any: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(map).map(([name, any]) => [name, convert(any)]));
}
