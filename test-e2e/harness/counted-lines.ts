/** Line number `n` of a stream, without its newline; `n` begins with 1 and stands at the beginning of the line. */
export type LineOf = (n: number) => string;

/** Lines that a log does not have. */
export interface Gap {
  /** The last whole line before them; 0: there is none. */
  readonly after: number;
  readonly lines: number;
  /** Bytes of those lines, newlines included, without what is there of one that was cut. */
  readonly bytes: number;
}

/** What a log holds of a stream whose lines are counted. */
export interface StreamAccount {
  /** Whole lines. */
  readonly lines: number;
  /** The number of the last whole one; 0: there is none. */
  readonly last: number;
  readonly gaps: readonly Gap[];
  /** What is neither a whole line in its turn nor a piece of one that is missing there. */
  readonly wrong: readonly string[];
}

/** Counts the lines of a stream in the order of its log, parts joined. */
export class LineCount {
  private readonly gaps: Gap[] = [];
  private readonly wrong: string[] = [];
  private last = 0;
  private whole = 0;
  private pieces: string[] = [];

  constructor(private readonly lineOf: LineOf) {}

  add(line: string): void {
    const number = Number(/^\d+/.exec(line)?.[0] ?? 0);
    if (line !== this.lineOf(number)) this.pieces.push(line);
    else if (number <= this.last) this.wrong.push(`after ${this.last}: ${shown(line)} again`);
    else {
      this.close(number);
      this.last = number;
      this.whole += 1;
    }
  }

  /** @param lastOf the number of the last line that was written, so that what is missing at the end counts too. Default: it is not known */
  account(lastOf?: number): StreamAccount {
    // A line that is being written is no loss.
    if (lastOf !== undefined) this.close(lastOf + 1);
    const { whole, last, gaps, wrong } = this;
    return { lines: whole, last, gaps, wrong };
  }

  /** What is missing before the line `next`. */
  private close(next: number): void {
    const { last, lineOf } = this;
    if (next === last + 1 && this.pieces.length === 0) return;
    const missing = Array.from({ length: next - last - 1 }, (_, index) => lineOf(last + 1 + index));
    let bytes = missing.reduce((sum, line) => sum + line.length + 1, 0);
    for (const piece of this.pieces.splice(0)) {
      const source = missing.find((line) => line.includes(piece));
      if (source === undefined) this.wrong.push(`between ${last} and ${next}: ${shown(piece)}`);
      else bytes -= piece.length + (source.endsWith(piece) ? 1 : 0);
    }
    if (missing.length > 0) this.gaps.push({ after: last, lines: missing.length, bytes });
  }
}

/** Gaps in words, for the name of an assertion. */
export function describeGaps(gaps: readonly Gap[]): string {
  return gaps.map(({ after, lines, bytes }) => `${lines} lines of ${bytes} bytes after ${after}`).join(', ') || 'nothing';
}

function shown(line: string): string {
  return line.length <= 60 ? JSON.stringify(line) : `${JSON.stringify(`${line.slice(0, 25)}…${line.slice(-25)}`)} (${line.length} bytes)`;
}
