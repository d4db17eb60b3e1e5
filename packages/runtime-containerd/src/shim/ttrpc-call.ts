import { createConnection } from 'node:net';
import { status } from '@grpc/grpc-js';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { ContainerdError } from '../errors.js';
import { Status } from '../gen/google/rpc/status.js';
import { onAbort } from '../grpc/on-abort.js';

/** Length of the message, stream, type and flags (github.com/containerd/ttrpc, PROTOCOL.md). */
const HEADER_BYTES = 10;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const REQUEST = 1;
const RESPONSE = 2;
/** A client's streams have odd numbers. */
const STREAM = 1;

export interface TtrpcCall {
  /** Absolute path of the socket. */
  readonly socketPath: string;
  /** For example `containerd.task.v3.Task`. */
  readonly service: string;
  readonly method: string;
  readonly payload: Uint8Array;
  /** Milliseconds until DEADLINE_EXCEEDED; 0 is no limit. */
  readonly timeoutMs: number;
}

/**
 * One call over ttrpc, the protocol of containerd's shims, on a connection of its own.
 *
 * @throws ContainerdError as the shim answers, and UNAVAILABLE where it is not there or goes away; the signal's reason when it aborts
 */
export function ttrpcCall(call: TtrpcCall, signal?: AbortSignal): Promise<Uint8Array> {
  const { socketPath, service, method, timeoutMs } = call;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const socket = createConnection({ path: socketPath });
    const detach = onAbort(signal, () => socket.destroy(signal?.reason as Error));
    const failed = (code: status, details: string) => new ContainerdError(code, `shim ${service}/${method}`, details);
    const late = timeoutMs === 0 ? undefined : setTimeout(() => socket.destroy(failed(status.DEADLINE_EXCEEDED, `no answer within ${timeoutMs} ms`)), timeoutMs);
    let received = Buffer.alloc(0);
    let answered = false;
    socket.once('connect', () => socket.write(message(encodeRequest(call))));
    socket.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      if (received.length < HEADER_BYTES) return;
      const length = received.readUInt32BE(0);
      if (length > MAX_MESSAGE_BYTES || received.readUInt8(8) !== RESPONSE) socket.destroy(failed(status.INTERNAL, 'not an answer of ttrpc'));
      if (received.length < HEADER_BYTES + length) return;
      answered = true;
      try {
        const { code, details, payload } = decodeResponse(received.subarray(HEADER_BYTES, HEADER_BYTES + length));
        if (code === status.OK) resolve(payload);
        else reject(failed(code, details));
      } catch (error) {
        reject(failed(status.INTERNAL, (error as Error).message));
      }
      socket.destroy();
    });
    socket.once('error', (error) => reject(signal?.aborted === true || error instanceof ContainerdError ? error : failed(status.UNAVAILABLE, error.message)));
    socket.once('close', () => {
      detach();
      clearTimeout(late);
      if (!answered) reject(failed(status.UNAVAILABLE, 'the shim has closed the connection'));
    });
  });
}

function message(body: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt32BE(STREAM, 4);
  header.writeUInt8(REQUEST, 8);
  return Buffer.concat([header, body]);
}

function encodeRequest({ service, method, payload }: TtrpcCall): Uint8Array {
  return new BinaryWriter().uint32(10).string(service).uint32(18).string(method).uint32(26).bytes(payload).finish();
}

function decodeResponse(bytes: Uint8Array): { code: number; details: string; payload: Uint8Array } {
  const reader = new BinaryReader(bytes);
  let answer = Status.fromPartial({});
  let payload: Uint8Array = new Uint8Array();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 10) answer = Status.decode(reader, reader.uint32());
    else if (tag === 18) payload = reader.bytes();
    else reader.skip(tag & 7);
  }
  return { code: answer.code, details: answer.message, payload };
}
