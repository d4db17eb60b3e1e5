/** Nanoseconds since the epoch, as far as a double is exact, in two parts. */
interface Instant {
  seconds: number;
  nanos: number;
}

const NANOS_PER_SECOND = 1e9;
/** How far the monotonic clock may leave the wall clock before it is set anew (milliseconds; Date.now() is whole ones). */
const MAX_DRIFT_MS = 2;
/** A step back of at most this much is our own counting ahead, not a clock that was set (nanoseconds). */
const MAX_AHEAD = 5e6;

/**
 * Timestamps of log records: RFC 3339 in UTC with nine decimals, written into `bytes` in place.
 *
 * Records that were read together share one look at the clock and differ by a nanosecond each, so that no two records of a
 * log have the same time (collectors drop equal lines of equal time) and none goes back unless the wall clock was set back.
 */
export class RecordClock {
  /** `2026-01-31T23:59:59.123456789Z`, the time of the current record. */
  readonly bytes = new Uint8Array(30);
  private seconds = -1;
  private nanos = 0;
  /** When both clocks were last compared, each in its own milliseconds. */
  private wallBase: number;
  private monotonicBase: number;

  constructor(
    private readonly wallMs: () => number = Date.now,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {
    this.wallBase = wallMs();
    this.monotonicBase = monotonicMs();
  }

  /** Takes the time for the records to come. */
  read(): void {
    const now = this.now();
    const ahead = (this.seconds - now.seconds) * NANOS_PER_SECOND + (this.nanos - now.nanos);
    if (this.seconds >= 0 && ahead >= 0 && ahead < MAX_AHEAD) {
      this.tick();
      return;
    }
    this.set(now);
  }

  /** Moves on to the next record. */
  tick(): void {
    this.nanos += 1;
    if (this.nanos === NANOS_PER_SECOND) {
      this.set({ seconds: this.seconds + 1, nanos: 0 });
      return;
    }
    let digit = 28;
    while (this.bytes[digit] === 57) {
      this.bytes[digit] = 48;
      digit -= 1;
    }
    this.bytes[digit] = (this.bytes[digit] ?? 48) + 1;
  }

  private now(): Instant {
    const wall = this.wallMs();
    const monotonic = this.monotonicMs();
    if (Math.abs(this.wallBase + monotonic - this.monotonicBase - wall) > MAX_DRIFT_MS) {
      this.wallBase = wall;
      this.monotonicBase = monotonic;
    }
    // Milliseconds since the epoch would leave a double no room for nanoseconds; since the second of the base they do.
    const baseSeconds = Math.floor(this.wallBase / 1000);
    const ms = this.wallBase - baseSeconds * 1000 + (monotonic - this.monotonicBase);
    const more = Math.floor(ms / 1000);
    return {
      seconds: baseSeconds + more,
      nanos: Math.min(Math.round((ms - more * 1000) * 1e6), NANOS_PER_SECOND - 1),
    };
  }

  private set({ seconds, nanos }: Instant): void {
    if (seconds !== this.seconds) {
      const text = new Date(seconds * 1000).toISOString();
      for (let i = 0; i < 20; i += 1) this.bytes[i] = text.charCodeAt(i);
      this.bytes[29] = 90;
    }
    this.seconds = seconds;
    this.nanos = nanos;
    let rest = nanos;
    for (let digit = 28; digit >= 20; digit -= 1) {
      const tenth = Math.floor(rest / 10);
      this.bytes[digit] = 48 + rest - tenth * 10;
      rest = tenth;
    }
  }
}
