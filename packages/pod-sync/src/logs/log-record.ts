/** One record of a container log in CRI's format: `2024-01-01T00:00:00.000000000Z stdout F text`. */
export interface LogRecord {
  /** RFC 3339 with nanoseconds, as it stands in the file. */
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  /** A part of a line: the line goes on in the next record of the stream. */
  readonly partial: boolean;
  /** What the container wrote, with the newline of a complete line. */
  readonly content: Buffer;
}

/** Parses one line of a log file, without its newline. Undefined when the line is not in CRI's format. */
export function parseLogRecord(line: Buffer): LogRecord | undefined {
  const first = line.indexOf(0x20);
  const second = line.indexOf(0x20, first + 1);
  if (first < 0 || second < 0) return undefined;
  const third = line.indexOf(0x20, second + 1);
  const end = third < 0 ? line.length : third;
  const stream = line.toString('latin1', first + 1, second);
  // Tags are separated by colons; only the first, P or F, has a meaning so far.
  const tag = line.toString('latin1', second + 1, end).split(':')[0];
  if ((stream !== 'stdout' && stream !== 'stderr') || (tag !== 'P' && tag !== 'F')) return undefined;
  const text = line.subarray(Math.min(end + 1, line.length));
  const partial = tag === 'P';
  const content = partial ? Buffer.from(text) : Buffer.concat([text, Buffer.from('\n')]);
  return { time: line.toString('latin1', 0, first), stream, partial, content };
}

/** Cuts a stream of bytes into records; what is not yet a whole line waits for the next chunk. */
export class LogParser {
  private rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): LogRecord[] {
    const data = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const records: LogRecord[] = [];
    let begin = 0;
    for (let end = data.indexOf(0x0a); end >= 0; end = data.indexOf(0x0a, begin)) {
      const record = parseLogRecord(data.subarray(begin, end));
      if (record !== undefined) records.push(record);
      begin = end + 1;
    }
    this.rest = Buffer.from(data.subarray(begin));
    return records;
  }
}
