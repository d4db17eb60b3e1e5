/** One record of a container's log in the CRI format. */
export interface LogRecord {
  readonly timestamp: string;
  readonly stream: string;
  readonly tag: string;
  readonly text: string;
}

const RECORD = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([PF]) (.*)$/s;

/** The records of a log file. Throws on a line that is not in the CRI format, naming `file`. */
export function parseLogRecords(content: string, file: string): LogRecord[] {
  const lines = content.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [, timestamp = '', stream = '', tag = '', text = ''] = RECORD.exec(line) ?? [];
    if (timestamp === '') throw new Error(`${file}: not a CRI log line: ${JSON.stringify(line.slice(0, 200))}`);
    return { timestamp, stream, tag, text };
  });
}

/** Puts the lines of one stream together again: parts joined. */
export class LineJoiner {
  private parts: string[] = [];

  constructor(private readonly stream: string) {}

  /** @returns the line that this record ends, if it does */
  add({ stream, tag, text }: LogRecord): string | undefined {
    if (stream !== this.stream) return undefined;
    this.parts.push(text);
    return tag === 'P' ? undefined : this.rest();
  }

  /** A line that has begun, and has no end yet; undefined where there is none. */
  rest(): string | undefined {
    return this.parts.length === 0 ? undefined : this.parts.splice(0).join('');
  }
}

/** The lines of one stream, the last one also where it has no end. */
export function joinedLines(records: readonly LogRecord[], stream: string): string[] {
  const joiner = new LineJoiner(stream);
  const lines = records.map((record) => joiner.add(record));
  return [...lines, joiner.rest()].filter((line) => line !== undefined);
}
