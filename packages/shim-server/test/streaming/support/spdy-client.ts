import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { constants, createDeflate } from 'node:zlib';
import { HEADER_DICTIONARY } from '../../../src/streaming/spdy/dictionary.js';

/** One stream as its client sees it. */
export class ClientStream {
  readonly chunks: Buffer[] = [];
  replied = false;
  /** The server has half-closed it. */
  ended = false;
  /** The status of the server's reset. */
  reset: number | undefined;

  constructor(
    readonly id: number,
    private readonly client: SpdyClient,
  ) {}

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  write(data: string | Buffer): boolean {
    return this.client.send(dataFrame(this.id, Buffer.from(data), 0));
  }

  end(): void {
    this.client.send(dataFrame(this.id, Buffer.alloc(0), 1));
  }

  abort(): void {
    this.client.send(controlFrame(3, 0, words(this.id, 5)));
  }
}

/** A client of SPDY/3.1 that is written down from the specification, apart from the server's code. It does not keep windows, as Go's. */
export class SpdyClient {
  readonly streams = new Map<number, ClientStream>();
  readonly pings: number[] = [];
  readonly closed: Promise<void>;
  private readonly deflate = createDeflate({ dictionary: HEADER_DICTIONARY });
  private nextId = 1;
  private pending = Buffer.alloc(0);

  private constructor(
    readonly socket: Socket,
    head: Buffer,
    readonly protocol: string | undefined,
  ) {
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.receive(chunk));
    this.receive(head);
  }

  /** Rejects with the HTTP status when the server does not upgrade. */
  static async connect(url: string, protocols: readonly string[], method = 'POST'): Promise<SpdyClient> {
    const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': [...protocols] };
    const call = (url.startsWith('https:') ? httpsRequest : httpRequest)(url, { method, headers });
    call.end();
    return new Promise((resolve, reject) => {
      call.once('error', reject);
      call.once('response', (response) => {
        response.resume();
        reject(new Error(`${response.statusCode}`));
      });
      call.once('upgrade', (response, socket, head) => {
        resolve(new SpdyClient(socket as Socket, head, response.headers['x-stream-protocol-version'] as string | undefined));
      });
    });
  }

  async open(headers: Readonly<Record<string, string>>): Promise<ClientStream> {
    const id = this.nextId;
    this.nextId += 2;
    const stream = new ClientStream(id, this);
    this.streams.set(id, stream);
    const fields = Object.entries(headers).flat();
    const plain = Buffer.concat([words(fields.length / 2), ...fields.map((field) => Buffer.concat([words(field.length), Buffer.from(field)]))]);
    const block = await this.compress(plain);
    this.send(controlFrame(1, 0, Buffer.concat([words(id, 0), Buffer.alloc(2), block])));
    return stream;
  }

  /** Opens a stream for each type. */
  async openTypes<T extends string>(...types: T[]): Promise<Record<T, ClientStream>> {
    const streams: Partial<Record<T, ClientStream>> = {};
    for (const type of types) streams[type] = await this.open({ streamtype: type });
    return streams as Record<T, ClientStream>;
  }

  send(frame: Buffer): boolean {
    return this.socket.write(frame);
  }

  ping(id: number): void {
    this.send(controlFrame(6, 0, words(id)));
  }

  private async compress(plain: Buffer): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const collect = (chunk: Buffer) => chunks.push(chunk);
    this.deflate.on('data', collect);
    this.deflate.write(plain);
    await new Promise<void>((resolve) => this.deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    this.deflate.off('data', collect);
    return Buffer.concat(chunks);
  }

  private receive(chunk: Buffer): void {
    this.pending = Buffer.concat([this.pending, chunk]);
    while (this.pending.length >= 8) {
      const length = this.pending.readUIntBE(5, 3);
      if (this.pending.length < 8 + length) return;
      const [word, flags] = [this.pending.readUInt32BE(0), this.pending.readUInt8(4)];
      const payload = this.pending.subarray(8, 8 + length);
      this.pending = this.pending.subarray(8 + length);
      this.handle(word, flags, payload);
    }
  }

  private handle(word: number, flags: number, payload: Buffer): void {
    if (word < 2 ** 31) {
      const stream = this.streams.get(word);
      if (payload.length > 0) stream?.chunks.push(Buffer.from(payload));
      if (stream !== undefined && (flags & 1) !== 0) stream.ended = true;
      return;
    }
    const type = word & 0xffff;
    if (type === 6) this.pings.push(payload.readUInt32BE(0));
    if (type !== 2 && type !== 3) return;
    const stream = this.streams.get(payload.readUInt32BE(0));
    if (stream === undefined) return;
    if (type === 2) stream.replied = true;
    else stream.reset = payload.readUInt32BE(4);
  }
}

export function words(...values: number[]): Buffer {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => buffer.writeUInt32BE(value, index * 4));
  return buffer;
}

export function controlFrame(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8003, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

export function dataFrame(id: number, data: Buffer, flags: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(id, 0);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(data.length, 5, 3);
  return Buffer.concat([head, data]);
}

/** Resolves when a socket has let go of what was written to it. */
export async function drained(socket: Socket): Promise<void> {
  if (socket.writableNeedDrain) await once(socket, 'drain');
}
