import { BatchBuffers } from './batch-buffers.js';
import { mendLogEnd } from './log-end.js';
import { LogFile, type LogFileStats } from './log-file.js';
import { RecordClock } from './record-clock.js';
import { RECORD_OVERHEAD_BYTES, RecordEncoder, STREAM_NAMES, type StreamName } from './record-encoder.js';

/** containerd's default of `max_container_log_line_size`, bytes. */
export const DEFAULT_MAX_LINE_BYTES = 16 * 1024;

/** Room for the records of one 64 KiB read with lines of 40 bytes and more. */
const BATCH_BYTES = 128 * 1024;

export interface ContainerLogOptions {
  /** Bytes of a line in one record; a longer line is split. Default 16384. */
  maxLineBytes?: number;
  /** Told about every batch that lost records, for example on a full disk. */
  onDrop?: (records: number, error: Error) => void;
  clock?: RecordClock;
}

/** Where one stream of a container goes. */
export interface LogStream {
  /**
   * Takes what was read. Resolves when it is in the file (or dropped): the reader pauses until then, which bounds memory and
   * what a kill of the daemon can lose to one read. The chunk may be used again afterwards. Never rejects.
   */
  write(chunk: Buffer): Promise<void>;
  /** The stream's end: the start of a line that never ended becomes a record tagged P. */
  end(): Promise<void>;
}

/** Buffers by size: nearly always there is one size only. */
const buffersBySize = new Map<number, BatchBuffers>();

/**
 * The log of a container in CRI's format, fed by the readers of its stdout and stderr.
 *
 * A record is written whole and by one call, so the streams never mix inside one. On the way down (`flush`) the
 * start of an unfinished line is written as a record tagged P; the daemon that follows writes the rest of the line as it comes, with
 * F at its end, and readers join P…F to the line byte for byte. So no shutdown or upgrade loses or changes a line.
 */
export class ContainerLog {
  private readonly streams: Record<StreamName, EncodedStream>;

  private constructor(
    private readonly file: LogFile | undefined,
    options: ContainerLogOptions,
    cut: ReadonlySet<StreamName> = new Set(),
  ) {
    const maxLineBytes = options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES;
    const clock = options.clock ?? new RecordClock();
    const bytes = Math.max(BATCH_BYTES, maxLineBytes + RECORD_OVERHEAD_BYTES);
    const buffers = buffersBySize.get(bytes) ?? new BatchBuffers(bytes);
    buffersBySize.set(bytes, buffers);
    const make = (name: StreamName): EncodedStream =>
      new EncodedStream(new RecordEncoder(name, maxLineBytes, clock, cut.has(name)), clock, buffers, file);
    this.streams = { stdout: make('stdout'), stderr: make('stderr') };
  }

  /**
   * Opens the log for appending, and makes file and directory where they do not exist.
   *
   * @param path undefined for a container without a log: everything is read and thrown away.
   * @throws RangeError for `maxLineBytes` below 1; FAILED_PRECONDITION when the file cannot be opened.
   */
  static async open(path: string | undefined, options: ContainerLogOptions = {}): Promise<ContainerLog> {
    checkMaxLineBytes(options);
    return new ContainerLog(path === undefined ? undefined : await LogFile.open(path, options.onDrop), options);
  }

  /**
   * {@link open} for a log that an earlier daemon wrote.
   *
   * What one that was killed left is made whole: half a record at the end is cut off. Of a line that was too long for one record the rest may
   * be lost, with what came after it; so an empty record tagged F ends it, and what comes next is not joined to the start of another line.
   *
   * @param goesOn the streams that were left in order within a line ({@link unfinished}): what comes next is the rest of it.
   */
  static async resume(path: string | undefined, goesOn: ReadonlySet<StreamName>, options: ContainerLogOptions = {}): Promise<ContainerLog> {
    checkMaxLineBytes(options);
    if (path === undefined) return new ContainerLog(undefined, options);
    const cut = await mendLogEnd(path, options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES);
    const log = new ContainerLog(await LogFile.open(path, options.onDrop), options, cut);
    for (const name of cut) if (!goesOn.has(name)) await log.streams[name].endLine();
    return log;
  }

  /** Bytes in the file and records dropped, since it was opened by this daemon. */
  get stats(): Readonly<LogFileStats> {
    return this.file?.stats ?? { bytes: 0, droppedRecords: 0 };
  }

  /** The streams of which the last record is tagged P, once the log is flushed. */
  get unfinished(): StreamName[] {
    return STREAM_NAMES.filter((name) => this.streams[name].inLine);
  }

  /** The same object at every call. */
  stream(name: StreamName): LogStream {
    return this.streams[name];
  }

  /**
   * CRI ReopenContainerLog, after the kubelet has renamed the file: from now on records go to a new file, which exists when this
   * resolves. Every record is in exactly one of the two, and a line of up to `maxLineBytes` is one record.
   *
   * @throws FAILED_PRECONDITION when the log is closed or the file cannot be made; the old one then stays in use.
   */
  async reopen(): Promise<void> {
    await this.file?.reopen();
  }

  /** Writes what is held back of unfinished lines, tagged P. For shutdown: stop reading first. */
  async flush(): Promise<void> {
    await Promise.all([this.streams.stdout.end(), this.streams.stderr.end()]);
  }

  /** Flushes and closes. A second call does nothing. */
  async close(): Promise<void> {
    await this.flush();
    await this.file?.close();
  }
}

class EncodedStream implements LogStream {
  private queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly encoder: RecordEncoder,
    private readonly clock: RecordClock,
    private readonly buffers: BatchBuffers,
    private readonly file: LogFile | undefined,
  ) {}

  write(chunk: Buffer): Promise<void> {
    const { file } = this;
    if (file === undefined) return Promise.resolve();
    this.queue = this.queue.then(() => this.encodeTo(file, chunk));
    return this.queue;
  }

  end(): Promise<void> {
    this.queue = this.queue.then(() => (this.encoder.hasPartialLine ? this.append((out) => this.encoder.flush(out)) : undefined));
    return this.queue;
  }

  get inLine(): boolean {
    return this.encoder.inLine;
  }

  /** Ends the line that goes on, without the rest of it. */
  endLine(): Promise<void> {
    this.queue = this.queue.then(() => this.append((out) => this.encoder.endLine(out)));
    return this.queue;
  }

  private async encodeTo(file: LogFile, chunk: Buffer): Promise<void> {
    const out = this.buffers.take();
    this.clock.read();
    let at = 0;
    while (at < chunk.length) {
      const length = this.encoder.encode(chunk, at, out);
      at = this.encoder.consumed;
      if (length > 0) await file.append(out.subarray(0, length));
    }
    this.buffers.giveBack(out);
  }

  /** Appends one record. */
  private async append(encode: (out: Buffer) => number): Promise<void> {
    if (this.file === undefined) return;
    const out = this.buffers.take();
    this.clock.read();
    await this.file.append(out.subarray(0, encode(out)));
    this.buffers.giveBack(out);
  }
}

function checkMaxLineBytes({ maxLineBytes = DEFAULT_MAX_LINE_BYTES }: ContainerLogOptions): void {
  if (!Number.isSafeInteger(maxLineBytes) || maxLineBytes < 1) throw new RangeError(`maxLineBytes: ${maxLineBytes} is below 1`);
}
