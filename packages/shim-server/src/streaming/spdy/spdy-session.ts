import type { Duplex, Readable } from 'node:stream';
import { InboundLimit, type InboundLimits } from '../inbound-limit.js';
import { dataHead, initialWindow, MAX_DATA_BYTES, ping, ReplyWriter, rstStream } from './frame-writer.js';
import { ControlType, FLAG_FIN, FrameParser, type ControlFrame, type DataPiece } from './frame-parser.js';
import { HeaderReader } from './header-reader.js';
import { ResetStatus, SpdyError } from './spdy-error.js';
import { SpdyStream, type StreamSession } from './spdy-stream.js';

export interface SpdySessionOptions {
  /** Told of every stream that the client opens. It is answered when this returns, and refused when this throws. */
  readonly onStream: (stream: SpdyStream) => void;
  readonly inbound: InboundLimits;
  /** Open streams at once; more are refused. Default 512. */
  readonly maxStreams?: number;
}

const DEFAULT_MAX_STREAMS = 512;
/** The largest window: this side is bounded by its own limit. */
const WINDOW_BYTES = 2 ** 31 - 1;
/** How long a client may take to close its side after the session has ended. */
const LINGER_MS = 5_000;

/**
 * The server's side of SPDY/3.1 on a byte stream.
 *
 * Go's peers neither announce what they take (WINDOW_UPDATE) nor obey what is announced to them, so windows count for nothing
 * here: what is sent waits for the transport, and what is received is bounded by {@link InboundLimit}.
 */
export class SpdySession {
  /** Resolves when the transport is gone. */
  readonly closed: Promise<void>;
  private readonly streams = new Map<number, SpdyStream>();
  private readonly parser = new FrameParser();
  private readonly headers = new HeaderReader();
  private readonly replies = new ReplyWriter();
  private readonly limit: InboundLimit;
  private lastStreamId = 0;
  /** A header block is being unpacked. */
  private busy = false;
  private limited = false;
  private ending = false;

  constructor(
    private readonly transport: Duplex,
    head: Buffer,
    private readonly options: SpdySessionOptions,
  ) {
    this.limit = new InboundLimit(
      options.inbound,
      { pause: () => this.hold('limited', true), resume: () => this.hold('limited', false) },
      {
        others: () => this.streams.size > 2,
        giveUp: (stream: Readable) => (stream as SpdyStream).abandon(ResetStatus.flowControlError),
      },
    );
    this.closed = new Promise((resolve) => transport.once('close', () => resolve(this.onClosed())));
    transport.on('error', () => transport.destroy());
    transport.on('data', (chunk: Buffer) => this.receive(chunk));
    // SPDY has half-closes of its own; an ended transport is a client that has gone.
    transport.on('end', () => transport.destroy());
    transport.write(initialWindow(WINDOW_BYTES));
    this.receive(head);
  }

  /** Lets what was written go out, then closes; the client may close first. Data that still comes is dropped, so that no reset overtakes it. */
  async end(): Promise<void> {
    if (this.ending) return this.closed;
    this.ending = true;
    for (const stream of this.streams.values()) stream.destroy();
    this.limit.close();
    this.transport.end();
    this.transport.resume();
    const timer = setTimeout(() => this.transport.destroy(), LINGER_MS);
    await this.closed;
    clearTimeout(timer);
  }

  destroy(): void {
    this.transport.destroy();
  }

  private sendData(streamId: number, chunk: Buffer, fin: boolean, done: (error?: Error | null) => void): void {
    if (this.ending || !this.transport.writable) return done(new SpdyError('the session was closed'));
    this.transport.cork();
    let at = 0;
    while (chunk.length - at > MAX_DATA_BYTES) {
      this.transport.write(dataHead(streamId, MAX_DATA_BYTES, false));
      this.transport.write(chunk.subarray(at, at + MAX_DATA_BYTES));
      at += MAX_DATA_BYTES;
    }
    const rest = at === 0 ? chunk : chunk.subarray(at);
    const head = dataHead(streamId, rest.length, fin);
    if (rest.length === 0) this.transport.write(head, done);
    else {
      this.transport.write(head);
      this.transport.write(rest, done);
    }
    this.transport.uncork();
  }

  private reset(streamId: number, status: ResetStatus): void {
    if (!this.ending && this.transport.writable) this.transport.write(rstStream(streamId, status));
  }

  private receive(chunk: Buffer): void {
    if (this.ending) return;
    this.parser.push(chunk);
    if (!this.busy) this.process();
  }

  private process(): void {
    try {
      while (!this.busy && !this.ending) {
        const frame = this.parser.next();
        if (frame === undefined) return;
        if (frame.kind === 'data') this.onData(frame);
        else this.onControl(frame);
      }
    } catch {
      this.transport.destroy();
    }
  }

  private onData({ streamId, chunk, fin }: DataPiece): void {
    // Of a stream that was reset more may be on its way.
    const stream = this.streams.get(streamId);
    if (stream !== undefined && !stream.receive(chunk, fin)) this.limit.fellBehind(stream);
  }

  private onControl({ type, flags, payload }: ControlFrame): void {
    switch (type) {
      case ControlType.synStream:
        return this.unpack(payload, 10, (headers) => this.onSynStream(streamIdOf(payload), flags, headers));
      case ControlType.headers:
      case ControlType.synReply:
        // Of no use here, but part of the compression context.
        return this.unpack(payload, 4, () => undefined);
      case ControlType.rstStream:
        return this.streams.get(streamIdOf(payload))?.lost();
      case ControlType.ping:
        // Odd ones are the client's; an even one would answer one of this side.
        if (word(payload) % 2 === 1) this.transport.write(ping(word(payload)));
        return;
      default:
        // GOAWAY is followed by the end; windows and settings count for nothing; unknown types are to be ignored.
        return;
    }
  }

  private unpack(payload: Buffer, offset: number, then: (headers: ReadonlyMap<string, string>) => void): void {
    if (payload.length < offset) throw new SpdyError('a frame without its fields');
    this.hold('busy', true);
    this.headers.read(payload.subarray(offset)).then(
      (headers) => {
        if (this.transport.destroyed || this.ending) return;
        then(headers);
        this.hold('busy', false);
        this.process();
      },
      () => this.transport.destroy(),
    );
  }

  private onSynStream(id: number, flags: number, headers: ReadonlyMap<string, string>): void {
    if (id % 2 === 0 || id <= this.lastStreamId) return this.reset(id, ResetStatus.protocolError);
    this.lastStreamId = id;
    if (this.streams.size >= (this.options.maxStreams ?? DEFAULT_MAX_STREAMS)) return this.reset(id, ResetStatus.refusedStream);
    const stream = new SpdyStream(id, headers, this.streamSession);
    this.streams.set(id, stream);
    if ((flags & FLAG_FIN) !== 0) stream.receive(Buffer.alloc(0), true);
    // Answered first: what the stream's user writes at once must come after it.
    this.transport.write(this.replies.synReply(id));
    try {
      this.options.onStream(stream);
    } catch {
      stream.abandon(ResetStatus.refusedStream);
    }
  }

  private readonly streamSession: StreamSession = {
    sendData: (...args) => this.sendData(...args),
    reset: (...args) => this.reset(...args),
    wantsMore: (stream) => this.limit.caughtUp(stream),
    closed: (stream) => {
      this.streams.delete(stream.id);
      this.limit.caughtUp(stream);
    },
  };

  private hold(why: 'busy' | 'limited', held: boolean): void {
    this[why] = held;
    if (this.busy || this.limited) this.transport.pause();
    else this.transport.resume();
  }

  private onClosed(): void {
    this.ending = true;
    this.limit.close();
    this.headers.close();
    for (const stream of [...this.streams.values()]) stream.lost();
  }
}

function word(payload: Buffer): number {
  if (payload.length < 4) throw new SpdyError('a frame without its fields');
  return payload.readUInt32BE(0);
}

function streamIdOf(payload: Buffer): number {
  return word(payload) & 0x7fffffff;
}
