import { close, constants, open, read } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import { promisify } from 'node:util';

/** Where a stream's bytes go. */
export interface OutputSink {
  /**
   * At most `readBytes`, valid until the call returns or, when it returns a promise, until that resolves; the next chunk comes after.
   * A failure ends the reading.
   */
  data(chunk: Buffer): void | Promise<void>;
  /** Called once, last: the writers are gone, the reader was closed, or reading failed. */
  end(error?: Error): void;
}

export interface OutputOptions {
  /**
   * A FIFO that nobody has open for writing looks the same before its first writer and after its last. true (the default) waits for the
   * first writer: right before the task is created. false takes a FIFO without a writer as ended: right
   * for a task that was created before, when the FIFO is opened again after a restart.
   */
  readonly expectWriter?: boolean;
  /** The most that one read brings. Default 65536, which is what a pipe holds. */
  readonly readBytes?: number;
}

/** What a pipe holds. */
export const PIPE_BYTES = 64 * 1024;

const openFile = promisify(open);
const closeFile = promisify(close);
const readFile = promisify(read);

/**
 * Reads one FIFO to its end. The FIFO is opened without blocking and watched by the event loop (epoll), so a reader occupies no thread;
 * while the sink is busy nothing is read, and the container blocks on a full pipe instead of memory filling up.
 */
export class OutputReader {
  /** Resolves after `sink.end` was called; a failure of the reading goes there. Rejects only with what `sink.end` throws. */
  readonly ended: Promise<void>;
  private readonly closing = new AbortController();
  private readonly readBytes: number;

  constructor(
    private readonly path: string,
    private readonly sink: OutputSink,
    options: OutputOptions = {},
  ) {
    this.readBytes = options.readBytes ?? PIPE_BYTES;
    this.ended = this.run(options.expectWriter ?? true);
  }

  /** Stops reading. What the sink is working on is finished first. */
  close(): void {
    this.closing.abort();
  }

  private async run(expectWriter: boolean): Promise<void> {
    let failure: Error | undefined;
    try {
      const fd = await openFile(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
      const buffer = Buffer.allocUnsafeSlow(this.readBytes);
      if (this.closing.signal.aborted || (!expectWriter && !(await this.writerIsThere(fd, buffer)))) await closeFile(fd);
      else await this.pump(fd, buffer);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
    this.sink.end(failure);
  }

  /**
   * Reading tells: nothing is "no writer", EAGAIN is "a writer, but no data now". Data may be what a writer left behind, so
   * reading goes on until one of the two.
   */
  private async writerIsThere(fd: number, buffer: Buffer): Promise<boolean> {
    try {
      while (!this.closing.signal.aborted) {
        const { bytesRead } = await readFile(fd, buffer, 0, buffer.length, null);
        if (bytesRead === 0) return false;
        await this.sink.data(buffer.subarray(0, bytesRead));
      }
      return false;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return true;
      await closeFile(fd);
      throw error;
    }
  }

  private pump(fd: number, buffer: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = this.closing;
      let busy: Promise<void> | undefined;
      let failure: Error | undefined;
      const fail = (error: unknown) => {
        failure ??= error instanceof Error ? error : new Error(String(error));
        socket.destroy();
      };
      // Returning false stops the reading; the buffer is not written to meanwhile.
      const take = (length: number): boolean => {
        if (signal.aborted) return false;
        try {
          const done = this.sink.data(buffer.subarray(0, length));
          if (!(done instanceof Promise)) return true;
          busy = done.then(() => {
            busy = undefined;
            if (!signal.aborted) socket.resume();
          }, fail);
        } catch (error) {
          fail(error);
        }
        return false;
      };
      const options: SocketConstructorOpts & { onread: OnReadOpts } = {
        fd,
        readable: true,
        writable: false,
        onread: { buffer, callback: take },
      };
      const socket = new Socket(options);
      const stop = () => socket.destroy();
      signal.addEventListener('abort', stop, { once: true });
      socket.once('end', stop);
      socket.once('error', fail);
      socket.once('close', () => {
        signal.removeEventListener('abort', stop);
        const finish = () => (failure === undefined ? resolve() : reject(failure));
        if (busy === undefined) finish();
        else void busy.then(finish);
      });
      // 'end' is only told to who lets data flow.
      socket.resume();
    });
  }
}
