import type { CallOptions } from '../call-options.js';
import { Image, ImagesService } from '../gen/services/images/v1/images.js';
import type { Channel } from '../grpc/channel.js';
import { fromWireDescriptor, toWireDescriptor } from '../grpc/descriptor.js';
import { toNanos } from '../grpc/timestamp.js';

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

export function imagesService(channel: Channel): Images {
  return {
    async get(name, options) {
      return imageRecord(await channel.unary(ImagesService.get, { name }, options));
    },
    async list(filters = [], options) {
      const { images } = await channel.unary(ImagesService.list, { filters: [...filters] }, options);
      return images.map((image) => imageRecord({ image }));
    },
    async create(image, options) {
      const request = { image: wireImage(image), sourceDateEpoch: undefined };
      return imageRecord(await channel.unary(ImagesService.create, request, options));
    },
    async update(image, fields = [], options) {
      const updateMask = fields.length === 0 ? undefined : [...fields];
      const request = { image: wireImage(image), updateMask, sourceDateEpoch: undefined };
      return imageRecord(await channel.unary(ImagesService.update, request, options));
    },
    async delete(name, { sync = false, target, ...options } = {}) {
      const request = { name, sync, target: target === undefined ? undefined : toWireDescriptor(target) };
      await channel.unary(ImagesService.delete, request, options);
    },
  };
}

function wireImage({ name, labels = {}, target }: NewImage): Image {
  return { name, labels, target: toWireDescriptor(target), createdAt: undefined, updatedAt: undefined };
}

function imageRecord(reply: { image: Image | undefined }): ImageRecord {
  const { name, labels, target, createdAt, updatedAt } = reply.image ?? Image.fromPartial({});
  return { name, labels, target: fromWireDescriptor(target), createdAt: toNanos(createdAt), updatedAt: toNanos(updatedAt) };
}
