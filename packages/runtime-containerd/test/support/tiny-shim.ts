import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

// Bytes are written down by hand: ttrpc's PROTOCOL.md, and its request and response messages.

const HEADER_BYTES = 10;

export function frame(type: number, body: Buffer, stream = 1): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt32BE(stream, 4);
  header.writeUInt8(type, 8);
  return Buffer.concat([header, body]);
}

export function field(tag: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
}

/** The bytes of an answer: of `Response`, field 2 is the payload. */
export function answered(payload: Buffer, stream = 1): Buffer {
  return frame(2, field(0x12, payload), stream);
}

/** Field 1 is a `google.rpc.Status`. */
export function refused(code: number, text: string, stream = 1): Buffer {
  return frame(2, field(0x0a, Buffer.concat([Buffer.from([0x08, code]), field(0x12, Buffer.from(text))])), stream);
}

export interface TinyShim {
  readonly directory: string;
  readonly path: string;
  /** The bodies of the requests, in order. */
  readonly requests: readonly Buffer[];
  /** The connections, in order. */
  readonly sockets: readonly Socket[];
  readonly server: Server;
}

/** A shim's socket, with an answer to each request. */
export async function tinyShim(t: Test, answer: (body: Buffer, socket: Socket, stream: number) => void): Promise<TinyShim> {
  const directory = await mkdtemp(join(tmpdir(), 'criquet-shim-'));
  const path = join(directory, 'shim.sock');
  const requests: Buffer[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      while (received.length >= HEADER_BYTES && received.length >= HEADER_BYTES + received.readUInt32BE(0)) {
        const end = HEADER_BYTES + received.readUInt32BE(0);
        const [header, body] = [received.subarray(0, HEADER_BYTES), received.subarray(HEADER_BYTES, end)];
        received = received.subarray(end);
        requests.push(body);
        t.same([header.readUInt8(8), header.readUInt8(9)], [1, 0], 'a request of one message');
        answer(body, socket, header.readUInt32BE(4));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(directory, { recursive: true });
  });
  return { directory, path, requests, sockets, server };
}
