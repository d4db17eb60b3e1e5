import { createHash } from 'node:crypto';
import { isAlreadyExists } from '../errors.js';
import type { CallOptions } from '../call-options.js';
import { ContentService, WriteAction, type WriteContentRequest, type WriteContentResponse } from '../gen/services/content/v1/content.js';
import type { Channel, Duplex } from '../grpc/channel.js';
import type { BlobToWrite, Content, WrittenBlob } from './content.js';

/** Far below the 16 MiB of a message. */
const CHUNK_BYTES = 1024 * 1024;

/** `Content.write`: each part waits for the answer to the one before, so that an error is known at once. */
export async function writeBlob(
  channel: Channel,
  content: Content,
  blob: BlobToWrite,
  options: CallOptions = {},
): Promise<WrittenBlob> {
  const stream = channel.duplex(ContentService.write, options);
  const hash = createHash('sha256');
  const head = { ref: blob.ref, total: BigInt(blob.total ?? 0), expected: blob.expected ?? '' };
  let offset = 0n;
  let owned = false;
  let hashed = false;
  try {
    for await (const data of chunks(blob.data)) {
      hash.update(data);
      const reply = await exchange(stream, { ...head, action: WriteAction.WRITE, offset, data, labels: {} });
      owned = true;
      offset = reply.offset;
    }
    hashed = true;
    const commit = { ...head, action: WriteAction.COMMIT, offset, data: Buffer.alloc(0), labels: { ...blob.labels } };
    const { digest } = await exchange(stream, commit);
    stream.end();
    return { digest, size: offset };
  } catch (error) {
    if (isAlreadyExists(error)) {
      const digest = head.expected || (hashed ? `sha256:${hash.digest('hex')}` : '');
      if (digest !== '') return { digest, size: (await content.info(digest, options)).size };
    }
    // Only an ingest that this call has written to is its to throw away.
    if (owned) await content.abort(blob.ref, { ...withoutSignal(options) }).catch(() => undefined);
    throw error;
  } finally {
    stream.cancel();
  }
}

async function exchange(
  stream: Duplex<WriteContentRequest, WriteContentResponse>,
  request: WriteContentRequest,
): Promise<WriteContentResponse> {
  stream.send(request);
  const reply = await stream.messages.next();
  if (reply.done) throw new Error(`content.write: the stream of ingest ${request.ref} ended without an answer`);
  return reply.value;
}

async function* chunks(data: BlobToWrite['data']): AsyncGenerator<Buffer> {
  for await (const part of data instanceof Uint8Array ? [data] : data) {
    for (let start = 0; start < part.length; start += CHUNK_BYTES) {
      const chunk = part.subarray(start, start + CHUNK_BYTES);
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    }
  }
}

function withoutSignal({ namespace }: CallOptions): CallOptions {
  return { ...(namespace === undefined ? {} : { namespace }) };
}
