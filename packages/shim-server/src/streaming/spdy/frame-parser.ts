import { SpdyError } from './spdy-error.js';

/** Types of control frames (SPDY/3.1, section 2.6). */
export const ControlType = { synStream: 1, synReply: 2, rstStream: 3, settings: 4, ping: 6, goAway: 7, headers: 8, windowUpdate: 9 } as const;

export const FLAG_FIN = 1;

export interface ControlFrame {
  readonly kind: 'control';
  readonly type: number;
  readonly flags: number;
  readonly payload: Buffer;
}

/** A piece of a data frame, as much as has come. */
export interface DataPiece {
  readonly kind: 'data';
  readonly streamId: number;
  /** May be empty. */
  readonly chunk: Buffer;
  /** The peer half-closes the stream after this piece. */
  readonly fin: boolean;
}

const HEAD_BYTES = 8;
const VERSION = 3;
/** Far more than the headers of any stream here; deflate cannot blow it up to more than 64 MiB. */
const MAX_CONTROL_BYTES = 64 * 1024;

/** Cuts a byte stream into SPDY/3.1 frames. Data is handed on as it comes, so nothing but a control frame is ever gathered. */
export class FrameParser {
  private readonly pending: Buffer[] = [];
  private pendingBytes = 0;
  private data: { streamId: number; fin: boolean; left: number } | undefined;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.pending.push(chunk);
    this.pendingBytes += chunk.length;
  }

  /** The next frame or piece; undefined when more bytes are needed. @throws SpdyError */
  next(): ControlFrame | DataPiece | undefined {
    if (this.data !== undefined) return this.piece(this.data);
    if (this.pendingBytes < HEAD_BYTES) return undefined;
    const head = this.peek(HEAD_BYTES);
    const word = head.readUInt32BE(0);
    const flags = head.readUInt8(4);
    const length = head.readUIntBE(5, 3);
    if (word >= 2 ** 31) return this.control(word, flags, length);
    this.take(HEAD_BYTES);
    if (word === 0) throw new SpdyError('a data frame of stream 0');
    this.data = { streamId: word, fin: (flags & FLAG_FIN) !== 0, left: length };
    return this.piece(this.data);
  }

  private control(word: number, flags: number, length: number): ControlFrame | undefined {
    const version = (word >>> 16) & 0x7fff;
    if (version !== VERSION) throw new SpdyError(`a control frame of SPDY/${version}`);
    if (length > MAX_CONTROL_BYTES) throw new SpdyError(`a control frame of ${length} bytes`);
    if (this.pendingBytes < HEAD_BYTES + length) return undefined;
    this.take(HEAD_BYTES);
    return { kind: 'control', type: word & 0xffff, flags, payload: length === 0 ? Buffer.alloc(0) : this.take(length) };
  }

  private piece(data: { streamId: number; fin: boolean; left: number }): DataPiece | undefined {
    const first = this.pending[0];
    if (data.left > 0 && first === undefined) return undefined;
    const chunk = first === undefined || data.left === 0 ? Buffer.alloc(0) : this.take(Math.min(first.length, data.left));
    data.left -= chunk.length;
    if (data.left === 0) this.data = undefined;
    return { kind: 'data', streamId: data.streamId, chunk, fin: data.fin && data.left === 0 };
  }

  private peek(bytes: number): Buffer {
    const first = this.pending[0] as Buffer;
    if (first.length >= bytes) return first;
    this.pending.splice(0, this.pending.length, Buffer.concat(this.pending));
    return this.pending[0] as Buffer;
  }

  private take(bytes: number): Buffer {
    const first = this.peek(bytes);
    this.pendingBytes -= bytes;
    if (first.length === bytes) this.pending.shift();
    else this.pending[0] = first.subarray(bytes);
    return first.subarray(0, bytes);
  }
}
