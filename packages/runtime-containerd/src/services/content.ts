import type { CallOptions } from '../call-options.js';
import { ContentService, Info, Status } from '../gen/services/content/v1/content.js';
import type { Channel } from '../grpc/channel.js';
import { toNanos } from '../grpc/timestamp.js';
import { writeBlob } from './write-blob.js';

/** The content service (containerd.services.content.v1): blobs by digest, and ingests that become blobs. */
export interface Content {
  /** @throws ContainerdError NOT_FOUND */
  info(digest: string, options?: CallOptions): Promise<ContentInfo>;
  list(filters?: readonly string[], options?: CallOptions): AsyncIterable<ContentInfo>;
  /** A part of a blob; the whole from `offset` without `size`. The chunks are the server's. */
  read(digest: string, options?: CallOptions & ReadRange): AsyncIterable<Uint8Array>;
  /** A whole small blob. @throws BlobTooLarge beyond `maxBytes` (default 8 MiB) */
  readAll(digest: string, options?: CallOptions & { readonly maxBytes?: number }): Promise<Buffer>;
  /** Replaces all labels, or only those named by `fields` (`labels.KEY`). */
  update(
    digest: string,
    labels: Readonly<Record<string, string>>,
    fields?: readonly string[],
    options?: CallOptions,
  ): Promise<ContentInfo>;
  delete(digest: string, options?: CallOptions): Promise<void>;
  /**
   * Stores a blob: `data` goes into the ingest `ref`, which is then committed. A blob that exists already is success.
   * Hold a lease, or the garbage collector may take the blob at once.
   * @throws ContainerdError FAILED_PRECONDITION when size or digest differ from `total`, `expected`
   */
  write(blob: BlobToWrite, options?: CallOptions): Promise<WrittenBlob>;
  status(ref: string, options?: CallOptions): Promise<IngestStatus>;
  statuses(filters?: readonly string[], options?: CallOptions): Promise<IngestStatus[]>;
  /** Throws away an ingest. */
  abort(ref: string, options?: CallOptions): Promise<void>;
}

export interface ReadRange {
  /** Bytes from the start. Default 0. */
  readonly offset?: number | bigint;
  /** Bytes. Default: to the end. */
  readonly size?: number | bigint;
}

export interface ContentInfo {
  /** `sha256:…` */
  readonly digest: string;
  /** Bytes. */
  readonly size: bigint;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
  readonly labels: Record<string, string>;
}

export interface BlobToWrite {
  /** Names the ingest; unique among those under way. */
  readonly ref: string;
  readonly data: Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Bytes; checked when given. */
  readonly total?: number | bigint;
  /** Digest; checked when given. */
  readonly expected?: string;
  /** For example `containerd.io/gc.ref.content.0` from a manifest to what it names. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface WrittenBlob {
  readonly digest: string;
  readonly size: bigint;
}

export interface IngestStatus {
  readonly ref: string;
  readonly offset: bigint;
  /** 0 when unknown. */
  readonly total: bigint;
  readonly expected: string;
  /** Nanoseconds since 1970. */
  readonly startedAt: bigint;
  readonly updatedAt: bigint;
}

/** A blob is larger than the caller said it would read. */
export class BlobTooLarge extends Error {
  override readonly name = 'BlobTooLarge';

  constructor(
    readonly digest: string,
    /** The caller's limit in bytes. */
    readonly maxBytes: number,
  ) {
    super(`content ${digest}: larger than ${maxBytes} bytes`);
  }
}

/** `readAll` without a limit of the caller's: image manifests and configs are far smaller. */
const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;

export function contentService(channel: Channel): Content {
  const service: Content = {
    async info(digest, options) {
      return contentInfo(await channel.unary(ContentService.info, { digest }, options));
    },
    async *list(filters = [], options) {
      for await (const { info } of channel.serverStream(ContentService.list, { filters: [...filters] }, options)) {
        for (const item of info) yield contentInfo({ info: item });
      }
    },
    async *read(digest, { offset = 0, size = 0, ...options } = {}) {
      const request = { digest, offset: BigInt(offset), size: BigInt(size) };
      for await (const { data } of channel.serverStream(ContentService.read, request, options)) yield data;
    },
    async readAll(digest, { maxBytes = DEFAULT_MAX_BYTES, ...options } = {}) {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of service.read(digest, { timeoutMs: channel.defaultTimeoutMs, ...options })) {
        length += chunk.length;
        if (length > maxBytes) throw new BlobTooLarge(digest, maxBytes);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks, length);
    },
    async update(digest, labels, fields = [], options) {
      const info = { digest, size: 0n, createdAt: undefined, updatedAt: undefined, labels };
      const updateMask = fields.length === 0 ? ['labels'] : [...fields];
      return contentInfo(await channel.unary(ContentService.update, { info, updateMask }, options));
    },
    async delete(digest, options) {
      await channel.unary(ContentService.delete, { digest }, options);
    },
    write(blob, options) {
      return writeBlob(channel, service, blob, options);
    },
    async status(ref, options) {
      return ingestStatus(await channel.unary(ContentService.status, { ref }, options));
    },
    async statuses(filters = [], options) {
      const { statuses } = await channel.unary(ContentService.listStatuses, { filters: [...filters] }, options);
      return statuses.map((status) => ingestStatus({ status }));
    },
    async abort(ref, options) {
      await channel.unary(ContentService.abort, { ref }, options);
    },
  };
  return service;
}

function contentInfo(reply: { info: Info | undefined }): ContentInfo {
  const { digest, size, createdAt, updatedAt, labels } = reply.info ?? Info.fromPartial({});
  return { digest, size, createdAt: toNanos(createdAt), updatedAt: toNanos(updatedAt), labels };
}

function ingestStatus(reply: { status: Status | undefined }): IngestStatus {
  const { ref, offset, total, expected, startedAt, updatedAt } = reply.status ?? Status.fromPartial({});
  return { ref, offset, total, expected, startedAt: toNanos(startedAt), updatedAt: toNanos(updatedAt) };
}
