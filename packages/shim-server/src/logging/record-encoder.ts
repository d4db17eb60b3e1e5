import type { RecordClock } from './record-clock.js';

/** The streams of CRI's log format. */
export const STREAM_NAMES = ['stdout', 'stderr'] as const;
export type StreamName = (typeof STREAM_NAMES)[number];

const NEWLINE = 10;
const PARTIAL = 80;
const FULL = 70;
/** Below this a loop is faster than a call into the runtime. */
const LOOP_BYTES = 160;
const FIRST_CARRY_BYTES = 256;

/** Room that a record needs beyond its content: time, stream, tag, three blanks and the newline. */
export const RECORD_OVERHEAD_BYTES = 30 + 1 + 6 + 1 + 1 + 1 + 1;

/**
 * Turns the bytes of one stream into records of CRI's log format: `<time> <stream> <P|F> <content>\n`.
 *
 * A line becomes one record tagged F. A line longer than `maxLineBytes` becomes records of that many bytes tagged P, and a last
 * one tagged F, whose contents joined are the line. Bytes are kept as they are: carriage returns, NUL, invalid UTF-8. The start
 * of a line whose end has not come yet is held back, at most `maxLineBytes` of it, until `flush`.
 *
 * @param goesOn the first bytes belong to a line whose start an earlier encoder has written, tagged P. Default false.
 */
export class RecordEncoder {
  /** ` stdout F `. */
  private readonly tail: Uint8Array;
  private carry = Buffer.alloc(0);
  private carried = 0;
  private position = 0;
  /** Whether the last record is tagged P. */
  private cut: boolean;

  constructor(
    stream: StreamName,
    private readonly maxLineBytes: number,
    private readonly clock: RecordClock,
    goesOn = false,
  ) {
    this.cut = goesOn;
    this.tail = Uint8Array.from(Buffer.from(` ${stream} F `, 'latin1'));
  }

  /** Whether the start of a line is held back. */
  get hasPartialLine(): boolean {
    return this.carried > 0;
  }

  /** Whether a line has begun whose end is not written. */
  get inLine(): boolean {
    return this.cut || this.carried > 0;
  }

  /** Where in the chunk `encode` stopped. */
  get consumed(): number {
    return this.position;
  }

  /**
   * Encodes a chunk from `from` on into `out`, until the chunk is used up or the next record does not fit; then
   * `consumed` says where to go on with an empty buffer.
   *
   * @param out holds at least one record of the greatest size (`maxLineBytes + RECORD_OVERHEAD_BYTES`).
   * @returns the number of bytes in `out`, whole records only.
   */
  encode(chunk: Buffer, from: number, out: Buffer): number {
    const max = this.maxLineBytes;
    const end = chunk.length;
    let at = from;
    let length = 0;
    while (at < end) {
      const newline = chunk.indexOf(NEWLINE, at);
      const available = (newline < 0 ? end : newline) - at;
      const total = this.carried + available;
      if (newline < 0 && total <= max) {
        this.hold(chunk, at, end);
        at = end;
        break;
      }
      const size = total > max ? max : total;
      if (length + size + RECORD_OVERHEAD_BYTES > out.length) break;
      const taken = size - this.carried;
      length = this.writeRecord(out, length, total > max ? PARTIAL : FULL, chunk, at, at + taken);
      at += taken;
      if (total <= max) at += 1;
    }
    this.position = at;
    return length;
  }

  /** Writes what is held back as a record tagged P. @returns the number of bytes in `out`, 0 when nothing is held. */
  flush(out: Buffer): number {
    return this.carried === 0 ? 0 : this.writeRecord(out, 0, PARTIAL, this.carry, 0, 0);
  }

  /** Ends the line that goes on: an empty record tagged F. @returns the number of bytes in `out` */
  endLine(out: Buffer): number {
    return this.writeRecord(out, 0, FULL, this.carry, 0, 0);
  }

  /** A record of what is held back and `source` from `start` to `end`. */
  private writeRecord(out: Buffer, offset: number, tag: number, source: Buffer, start: number, end: number): number {
    const { bytes } = this.clock;
    const { tail } = this;
    let to = offset;
    for (let i = 0; i < 30; i += 1) out[to++] = bytes[i] as number;
    for (let i = 0; i < 10; i += 1) out[to++] = tail[i] as number;
    out[to - 2] = tag;
    this.cut = tag === PARTIAL;
    this.clock.tick();
    if (this.carried > 0) {
      this.carry.copy(out, to, 0, this.carried);
      to += this.carried;
      this.carried = 0;
    }
    if (end - start < LOOP_BYTES) {
      for (let i = start; i < end; i += 1) out[to++] = source[i] as number;
    } else {
      source.copy(out, to, start, end);
      to += end - start;
    }
    out[to] = NEWLINE;
    return to + 1;
  }

  private hold(chunk: Buffer, from: number, to: number): void {
    const needed = this.carried + to - from;
    if (needed > this.carry.length) {
      let size = Math.max(FIRST_CARRY_BYTES, this.carry.length * 2);
      while (size < needed) size *= 2;
      const grown = Buffer.allocUnsafeSlow(Math.min(size, this.maxLineBytes));
      this.carry.copy(grown, 0, 0, this.carried);
      this.carry = grown;
    }
    chunk.copy(this.carry, this.carried, from, to);
    this.carried = needed;
  }
}
