/** One record of a CRI log, as CRI's format says: `<RFC3339Nano> <stream> <P|F> <content>`. */
export interface LogRecord {
  time: string;
  stream: string;
  tag: string;
  content: Buffer;
}

/** Reads a log strictly: anything that is not a record throws. */
export function parseRecords(log: Buffer): LogRecord[] {
  const records: LogRecord[] = [];
  let at = 0;
  while (at < log.length) {
    const end = log.indexOf(10, at);
    if (end < 0) throw new Error(`half a record at the end: ${log.subarray(at).toString('latin1')}`);
    const line = log.subarray(at, end);
    const head = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) (stdout|stderr) ([PF]) /.exec(
      line.subarray(0, 48).toString('latin1'),
    );
    if (head === null) throw new Error(`not a record: ${line.subarray(0, 80).toString('latin1')}`);
    const [text, time = '', stream = '', tag = ''] = head;
    records.push({ time, stream, tag, content: line.subarray(text.length) });
    at = end + 1;
  }
  return records;
}

/** What a stream wrote, as a reader puts it together again: P joins to what follows, F ends a line. */
export function joinStream(records: readonly LogRecord[], stream: string): Buffer {
  return Buffer.concat(
    records
      .filter((record) => record.stream === stream)
      .flatMap(({ tag, content }) => (tag === 'F' ? [content, Buffer.from('\n')] : [content])),
  );
}
