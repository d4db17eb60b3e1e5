import type { Readable } from 'node:stream';

export interface InboundLimits {
  /** What all streams of a connection together may hold that nobody has taken yet, bytes. */
  readonly bytes: number;
  /**
   * How long a stream that takes nothing may hold up the others of its connection, milliseconds; six times as long when no other is known,
   * since one may wait unseen in what is not read. Default: for ever.
   */
  readonly stallMs?: number;
}

const CHECK_MS = 500;
const ALONE_FACTOR = 6;

/**
 * Bounds what one connection keeps in memory for streams whose readers are slower than the peer. The peers do not honour
 * windows, so all there is to slow them is the connection as a whole: it is paused above the limit, until half of it is taken.
 * With `stallMs`, a stream that takes nothing for too long meanwhile is given up.
 */
export class InboundLimit {
  private readonly behind = new Set<Readable>();
  private paused = false;
  private stalledFor = 0;
  private lastHeld = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: InboundLimits,
    private readonly transport: { pause(): void; resume(): void },
    private readonly hooks: {
      /** Whether the connection has other streams. */
      readonly others?: () => boolean;
      readonly giveUp?: (stream: Readable) => void;
    } = {},
  ) {}

  /** After a push that was answered with "no more". */
  fellBehind(stream: Readable): void {
    this.behind.add(stream);
    if (this.paused || this.held() <= this.limits.bytes) return;
    this.paused = true;
    this.transport.pause();
    this.lastHeld = this.held();
    this.stalledFor = 0;
    this.timer = setInterval(() => this.check(), CHECK_MS);
  }

  /** The stream's reader wants more, or there is no reader any more. */
  caughtUp(stream: Readable): void {
    if (this.behind.delete(stream)) this.relieve();
  }

  close(): void {
    clearInterval(this.timer);
    this.behind.clear();
  }

  /** Resumes when enough was taken. */
  private relieve(): void {
    if (!this.paused || this.held() > this.limits.bytes / 2) return;
    this.paused = false;
    clearInterval(this.timer);
    this.transport.resume();
  }

  private check(): void {
    this.relieve();
    if (!this.paused) return;
    const held = this.held();
    this.stalledFor = held < this.lastHeld ? 0 : this.stalledFor + CHECK_MS;
    this.lastHeld = held;
    const { stallMs } = this.limits;
    if (stallMs === undefined || this.stalledFor < stallMs * (this.hooks.others?.() === true ? 1 : ALONE_FACTOR)) return;
    const worst = [...this.behind].sort((a, b) => b.readableLength - a.readableLength)[0];
    if (worst === undefined) return;
    this.stalledFor = 0;
    this.hooks.giveUp?.(worst);
    this.caughtUp(worst);
  }

  private held(): number {
    let bytes = 0;
    for (const stream of this.behind) bytes += stream.destroyed ? 0 : stream.readableLength;
    return bytes;
  }
}
