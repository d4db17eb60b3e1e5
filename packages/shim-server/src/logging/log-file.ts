import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { status } from '@grpc/grpc-js';
import { failedPrecondition, hasNoRoom, ShimError } from '../errors.js';
import { makeDirectories } from '../runtime/make-directories.js';

const NEWLINE = 10;
/** Readable by the group, as the log files of containerd's CRI plugin. */
const FILE_MODE = 0o640;
/** A FIFO in the file's place must not hold the open for ever, nor a link lead elsewhere. */
const OPEN_FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What became of the records given to a file. */
export interface LogFileStats {
  /** Written. */
  bytes: number;
  /** Whole records that could not be written. */
  droppedRecords: number;
}

/**
 * A log file that is only appended to, in batches of whole records, one after the other.
 *
 * A batch that cannot be written (disk full, device error) is dropped and counted, never waited for; as many of its records as
 * fit stay, and no half record does. The next batch is tried as usual, so work goes on when there is room again.
 */
export class LogFile {
  readonly stats: LogFileStats = { bytes: 0, droppedRecords: 0 };
  private queue: Promise<void> = Promise.resolve();
  /** Bytes of half a record at the end that could not be cut off yet. */
  private torn = 0;
  private closed = false;

  private constructor(
    readonly path: string,
    private handle: FileHandle,
    private readonly onDrop: (records: number, error: Error) => void,
  ) {}

  /**
   * Opens a file for appending, and makes it and its directory where they do not exist.
   *
   * @param onDrop called for every batch that lost records.
   * @throws FAILED_PRECONDITION when the file cannot be opened or is no regular file, RESOURCE_EXHAUSTED when there is no room for it.
   */
  static async open(path: string, onDrop: (records: number, error: Error) => void = () => undefined): Promise<LogFile> {
    return new LogFile(path, await openForAppend(path), onDrop);
  }

  /** Appends whole records. Resolves when they are written or dropped; never rejects. */
  append(records: Buffer): Promise<void> {
    return this.enqueue(() => this.write(records));
  }

  /**
   * Goes on in a new file of the same path, made if it does not exist: what was given before is in the old file, what comes
   * after is in the new one. On failure the old file stays in use.
   *
   * @throws FAILED_PRECONDITION when the file is closed or the new one cannot be opened.
   */
  reopen(): Promise<void> {
    return this.enqueue(async () => {
      if (this.closed) throw failedPrecondition(`log file ${JSON.stringify(this.path)} is closed`);
      const previous = this.handle;
      this.handle = await openForAppend(this.path);
      this.torn = 0;
      await previous.close();
    });
  }

  /** Closes the file after what was given before. A second call does nothing; records that come later are dropped. */
  close(): Promise<void> {
    return this.enqueue(async () => {
      if (this.closed) return;
      this.closed = true;
      await this.handle.close();
    });
  }

  private enqueue(step: () => Promise<void>): Promise<void> {
    const result = this.queue.then(step);
    this.queue = result.catch(() => undefined);
    return result;
  }

  private async write(records: Buffer): Promise<void> {
    let written = 0;
    try {
      if (this.closed) throw new Error('log file is closed');
      if (this.torn > 0) await this.cutTorn();
      while (written < records.length) {
        const { bytesWritten } = await this.handle.write(records, written, records.length - written, null);
        if (bytesWritten === 0) throw new Error('nothing was written');
        written += bytesWritten;
      }
      this.stats.bytes += written;
    } catch (error) {
      await this.drop(records, written, error as Error);
    }
  }

  private async drop(records: Buffer, written: number, error: Error): Promise<void> {
    const whole = written === 0 ? 0 : records.lastIndexOf(NEWLINE, written - 1) + 1;
    this.stats.bytes += whole;
    if (written > whole) {
      this.torn = written - whole;
      await this.cutTorn().catch(() => undefined);
    }
    const lost = countNewlines(records, whole);
    this.stats.droppedRecords += lost;
    this.onDrop(lost, error);
  }

  private async cutTorn(): Promise<void> {
    const { size } = await this.handle.stat();
    await this.handle.truncate(Math.max(0, size - this.torn));
    this.torn = 0;
  }
}

async function openForAppend(path: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(path, OPEN_FLAGS, FILE_MODE).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      await makeDirectories(dirname(path), 0o755);
      return open(path, OPEN_FLAGS, FILE_MODE);
    });
  } catch (error) {
    const code = hasNoRoom(error) ? status.RESOURCE_EXHAUSTED : status.FAILED_PRECONDITION;
    throw new ShimError(code, `log file ${JSON.stringify(path)} cannot be opened: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw failedPrecondition(`log file ${JSON.stringify(path)} is not a regular file`);
}

function countNewlines(buffer: Buffer, from: number): number {
  let count = 0;
  for (let at = buffer.indexOf(NEWLINE, from); at >= 0; at = buffer.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}
