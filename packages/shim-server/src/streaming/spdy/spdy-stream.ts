import { Duplex } from 'node:stream';
import type { SpdyHeaders } from './header-reader.js';
import { ResetStatus } from './spdy-error.js';

/** What a stream asks of its session. */
export interface StreamSession {
  sendData(streamId: number, chunk: Buffer, fin: boolean, done: (error?: Error | null) => void): void;
  reset(streamId: number, status: ResetStatus): void;
  wantsMore(stream: SpdyStream): void;
  closed(stream: SpdyStream): void;
}

/** Bytes of one stream that wait to be sent. */
const HIGH_WATER_BYTES = 64 * 1024;

/**
 * One stream of a SPDY session. Its end is a half-close (FIN) in each direction; destroying it before both have ended resets it.
 * A reset by the peer is the `peerReset` event, then the close.
 */
export class SpdyStream extends Duplex {
  private ours = false;
  private theirs = false;

  constructor(
    readonly id: number,
    readonly headers: SpdyHeaders,
    private readonly session: StreamSession,
  ) {
    super({ allowHalfOpen: true, autoDestroy: true, highWaterMark: HIGH_WATER_BYTES });
    // Whoever uses the stream learns of a failure by its close.
    this.on('error', () => undefined);
  }

  /** @internal A piece from the peer; false when the reader is behind. */
  receive(chunk: Buffer, fin: boolean): boolean {
    if (this.destroyed || this.theirs) return true;
    const room = chunk.length === 0 || this.push(chunk);
    if (fin) {
      this.theirs = true;
      this.push(null);
    }
    return room;
  }

  /** @internal The peer reset it, or the session is gone: nothing more is sent. */
  lost(): void {
    this.ours = true;
    this.theirs = true;
    this.emit('peerReset');
    this.destroy();
  }

  /** Ends it with a reset that tells the reason. */
  abandon(status: ResetStatus): void {
    if (!(this.ours && this.theirs) && !this.destroyed) {
      this.session.reset(this.id, status);
      this.ours = true;
      this.theirs = true;
    }
    this.destroy();
  }

  override _read(): void {
    this.session.wantsMore(this);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.session.sendData(this.id, chunk, false, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.ours = true;
    this.session.sendData(this.id, Buffer.alloc(0), true, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!(this.ours && this.theirs)) this.session.reset(this.id, ResetStatus.cancel);
    this.session.closed(this);
    done(error);
  }
}
