import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Status } from '../gen/google/rpc/status.js';

/** Length of the message, stream, type and flags (github.com/containerd/ttrpc, PROTOCOL.md). */
const HEADER_BYTES = 10;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const REQUEST = 1;
const RESPONSE = 2;

export interface TtrpcRequest {
  /** For example `containerd.task.v3.Task`. */
  readonly service: string;
  readonly method: string;
  readonly payload: Uint8Array;
}

/** What a request is answered with. */
export interface TtrpcAnswer {
  /** That of the request. */
  readonly stream: number;
  /** 0 is success. */
  readonly code: number;
  readonly details: string;
  readonly payload: Uint8Array;
}

/** A request as it goes over the connection. */
export function encodeTtrpcRequest(stream: number, { service, method, payload }: TtrpcRequest): Buffer {
  const body = new BinaryWriter().uint32(10).string(service).uint32(18).string(method).uint32(26).bytes(payload).finish();
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(body.length, 0);
  header.writeUInt32BE(stream, 4);
  header.writeUInt8(REQUEST, 8);
  return Buffer.concat([header, body]);
}

/** Finds the answers in what a connection brings, in whatever pieces that comes. */
export class TtrpcAnswers {
  private received = Buffer.alloc(0);

  /**
   * @param data the next piece, which is copied
   * @returns the answers that are whole by now
   * @throws Error for what is no answer; nothing can be found after it any more
   */
  *read(data: Uint8Array): Generator<TtrpcAnswer> {
    this.received = Buffer.concat([this.received, data]);
    while (this.received.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.received.readUInt32BE(0);
      if (end - HEADER_BYTES > MAX_MESSAGE_BYTES || this.received.readUInt8(8) !== RESPONSE) throw new Error('not an answer of ttrpc');
      if (this.received.length < end) return;
      const stream = this.received.readUInt32BE(4);
      const body = this.received.subarray(HEADER_BYTES, end);
      this.received = this.received.subarray(end);
      yield { stream, ...decodeResponse(body) };
    }
  }
}

function decodeResponse(bytes: Uint8Array): Omit<TtrpcAnswer, 'stream'> {
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
