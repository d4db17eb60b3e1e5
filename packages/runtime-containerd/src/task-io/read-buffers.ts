/** Enough for the lines that a quiet stream brings. */
export const SMALL_BYTES = 4096;

/** How many large buffers that nobody uses are kept. */
const SPARE = 8;

/** By size: nearly always there is one size only. */
const spares = new Map<number, Buffer[]>();

/**
 * What a stream is read into. Most streams of a node are quiet most of the time, so each has a small buffer, and a large one, shared between streams,
 * while it brings more than that.
 */
export class ReadBuffers {
  private readonly small: Buffer;
  private large: Buffer | undefined;
  /** What the next read fills. */
  current: Buffer;

  /** @param bytes of a large buffer: the most that one read brings */
  constructor(private readonly bytes: number) {
    this.small = Buffer.allocUnsafeSlow(Math.min(bytes, SMALL_BYTES));
    this.current = this.small;
  }

  /**
   * Chooses the buffer of the next read.
   *
   * @param length what the last one brought
   */
  next(length: number): Buffer {
    if (length < this.small.length || this.bytes === this.small.length) this.current = this.small;
    else this.current = this.large ??= spares.get(this.bytes)?.pop() ?? Buffer.allocUnsafeSlow(this.bytes);
    return this.current;
  }

  /** What was read is not needed any more: a large buffer that the next read does not fill is for others. */
  release(): void {
    if (this.large === undefined || this.current === this.large) return;
    const free = spares.get(this.bytes) ?? [];
    spares.set(this.bytes, free);
    if (free.length < SPARE) free.push(this.large);
    this.large = undefined;
  }

  /** The stream has ended, and nothing that was read is needed any more. */
  end(): void {
    this.current = this.small;
    this.release();
  }
}
