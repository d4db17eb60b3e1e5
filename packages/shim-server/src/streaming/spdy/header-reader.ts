import { constants, createInflate } from 'node:zlib';
import { HEADER_DICTIONARY } from './dictionary.js';
import { SpdyError } from './spdy-error.js';

/** Header names in lower case. */
export type SpdyHeaders = ReadonlyMap<string, string>;

/** Of a block when it is unpacked; streams here have three short headers. */
const MAX_BLOCK_BYTES = 64 * 1024;
const MAX_HEADERS = 256;

/** Unpacks the header blocks of one session, in the order they came: all share one compression context. */
export class HeaderReader {
  private readonly inflate = createInflate({
    dictionary: HEADER_DICTIONARY,
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: MAX_BLOCK_BYTES + 1,
  });
  private failure: Error | undefined;

  constructor() {
    this.inflate.on('error', (error) => (this.failure = error));
  }

  /** One at a time. @throws SpdyError for what is no header block */
  async read(block: Buffer): Promise<SpdyHeaders> {
    const plain = await this.unpack(block);
    return parseHeaders(plain);
  }

  /** Frees the context. */
  close(): void {
    this.inflate.destroy();
  }

  private async unpack(block: Buffer): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const collect = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BLOCK_BYTES) chunks.push(chunk);
      else this.failure ??= new SpdyError('a header block is too large');
    };
    this.inflate.on('data', collect);
    try {
      await new Promise<void>((resolve, reject) => {
        const failed = (error: Error) => reject(error);
        const closed = () => reject(new SpdyError('the session was closed'));
        this.inflate.once('error', failed);
        this.inflate.once('close', closed);
        this.inflate.write(block, (error) => {
          this.inflate.off('error', failed);
          this.inflate.off('close', closed);
          if (error) reject(error);
          // What was unpacked is told before, or within the same turn of the loop.
          else setImmediate(resolve);
        });
      });
      if (this.failure !== undefined) throw this.failure;
    } catch (error) {
      throw new SpdyError(`header block: ${(this.failure ?? (error as Error)).message}`, { cause: error });
    } finally {
      this.inflate.off('data', collect);
    }
    return Buffer.concat(chunks);
  }
}

/** SPDY/3.1, section 2.6.10: a count, then names and values with their lengths. */
export function parseHeaders(plain: Buffer): SpdyHeaders {
  let at = 0;
  const number = (): number => {
    if (at + 4 > plain.length) throw new SpdyError('header block: too short');
    at += 4;
    return plain.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (at + length > plain.length) throw new SpdyError('header block: too short');
    at += length;
    return plain.toString('utf8', at - length, at);
  };
  const count = number();
  if (count > MAX_HEADERS) throw new SpdyError(`header block: ${count} headers`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const name = text().toLowerCase();
    headers.set(name, text());
  }
  return headers;
}
