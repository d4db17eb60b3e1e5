import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Flag, frame, FRAME_HEADER_BYTES, FrameType, grpcMessage, headerBlock, preface, windowUpdate } from './frames.js';

/** A unary call that was encoded once. */
export interface RawRequest {
  /** For example `/runtime.v1.RuntimeService/Version`. */
  readonly path: string;
  readonly message: Uint8Array;
}

interface Pending {
  readonly parts: Buffer[];
  resolve(message: Buffer): void;
  reject(error: Error): void;
}

/** After so much of what it read the client gives the server's window back. */
const WINDOW_STEP = 1024 * 1024;

/**
 * Makes unary gRPC calls of requests that were encoded before, and does not decode what comes back: a client that takes far less of a processor than
 * the servers it measures. One connection, any number of calls at once, as the kubelet has it.
 */
export class RawClient {
  private readonly calls = new Map<number, Pending>();
  private readonly headers = new Map<string, Buffer>();
  private outgoing: Buffer[] = [];
  private rest: Buffer = Buffer.alloc(0);
  private nextStream = 1;
  private unacknowledged = 0;

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the connection was closed')));
    this.send(preface());
  }

  /** @throws the system's error when nobody listens on the socket */
  static async connect(socketPath: string): Promise<RawClient> {
    const socket = connect(socketPath);
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** @returns the reply's message, not decoded; rejects when the server answered with an error or the connection broke */
  call({ path, message }: RawRequest): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) {
        reject(new Error('the connection is closed'));
        return;
      }
      const stream = this.nextStream;
      this.nextStream += 2;
      this.calls.set(stream, { parts: [], resolve, reject });
      this.send(frame(FrameType.HEADERS, Flag.END_HEADERS, stream, this.headersOf(path)));
      this.send(frame(FrameType.DATA, Flag.END_STREAM, stream, grpcMessage(message)));
    });
  }

  close(): void {
    this.socket.destroy();
  }

  private headersOf(path: string): Buffer {
    let block = this.headers.get(path);
    if (block === undefined) this.headers.set(path, (block = headerBlock(path)));
    return block;
  }

  /** What is sent in one turn goes out in one piece. */
  private send(bytes: Buffer): void {
    if (this.outgoing.push(bytes) > 1) return;
    queueMicrotask(() => this.socket.write(Buffer.concat(this.outgoing.splice(0))));
  }

  private read(chunk: Buffer): void {
    let bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    while (bytes.length >= FRAME_HEADER_BYTES) {
      const end = FRAME_HEADER_BYTES + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      this.take(bytes.readUInt8(3), bytes.readUInt8(4), bytes.readUInt32BE(5) & 0x7fffffff, bytes.subarray(FRAME_HEADER_BYTES, end));
      bytes = bytes.subarray(end);
    }
    this.rest = bytes;
  }

  private take(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FrameType.SETTINGS || type === FrameType.PING) {
      if ((flags & Flag.ACK) === 0) this.send(frame(type, Flag.ACK, 0, type === FrameType.PING ? payload : Buffer.alloc(0)));
    } else if (type === FrameType.GOAWAY) {
      this.fail(new Error('the server ends the connection'));
    } else if (type === FrameType.RST_STREAM) {
      this.end(stream, new Error(`the server reset the call with code ${payload.readUInt32BE(0)}`));
    } else if (type === FrameType.DATA || type === FrameType.HEADERS) {
      if (type === FrameType.DATA) this.takeData(flags, stream, payload);
      if ((flags & Flag.END_STREAM) !== 0) this.end(stream);
    }
  }

  private takeData(flags: number, stream: number, payload: Buffer): void {
    if ((flags & Flag.PADDED) !== 0) throw new Error('a padded frame');
    this.calls.get(stream)?.parts.push(payload);
    this.unacknowledged += payload.length;
    if (this.unacknowledged < WINDOW_STEP) return;
    this.send(windowUpdate(this.unacknowledged));
    this.unacknowledged = 0;
  }

  /** A call that failed has trailers and no message. */
  private end(stream: number, error?: Error): void {
    const call = this.calls.get(stream);
    this.calls.delete(stream);
    if (call === undefined) return;
    if (error !== undefined || call.parts.length === 0) call.reject(error ?? new Error('the call failed'));
    else call.resolve((call.parts.length === 1 ? (call.parts[0] as Buffer) : Buffer.concat(call.parts)).subarray(5));
  }

  private fail(error: Error): void {
    const calls = [...this.calls.values()];
    this.calls.clear();
    for (const call of calls) call.reject(error);
    this.socket.destroy();
  }
}
