import { close, constants, openSync, read } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ReadBuffers } from './read-buffers.js';

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

const closeFile = promisify(close);
const readFile = promisify(read);

/**
 * Reads one FIFO to its end. The FIFO is opened without blocking and watched by the event loop (epoll), so a reader occupies no thread;
 * while the sink is busy nothing is read, and the container blocks on a full pipe instead of memory filling up.
 */
export class OutputReader {
  /** Resolves after `sink.end` was called; a failure of the reading goes there. Rejects only with what `sink.end` throws. */
  readonly ended: Promise<void>;
  private closed = false;
  /** Ends the reading that is under way. */
  private stop: () => void = () => undefined;
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
    this.closed = true;
    this.stop();
  }

  private async run(expectWriter: boolean): Promise<void> {
    let failure: Error | undefined;
    try {
      // Here and now: without blocking, a FIFO is opened for reading whether or not it has a writer (fifo(7)).
      const fd = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
      // What the reader is made for, a process, is asked for first.
      await nextTurn();
      const buffers = new ReadBuffers(this.readBytes);
      const expected = expectWriter ? !this.closed : await this.writerIsThere(fd, buffers);
      await (expected ? this.pump(fd, buffers) : closeFile(fd));
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      // Who makes the reader has it before it is told of a failed open.
      await Promise.resolve();
    }
    this.sink.end(failure);
  }

  /**
   * Reading tells: nothing is "no writer", EAGAIN is "a writer, but no data now". Data may be what a writer left behind, so
   * reading goes on until one of the two.
   */
  private async writerIsThere(fd: number, buffers: ReadBuffers): Promise<boolean> {
    try {
      while (!this.closed) {
        const { buffer, bytesRead } = await readFile(fd, buffers.current, 0, buffers.current.length, null);
        if (bytesRead === 0) return false;
        await this.sink.data(buffer.subarray(0, bytesRead));
        buffers.next(bytesRead);
        buffers.release();
      }
      return false;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return true;
      await closeFile(fd);
      throw error;
    }
  }

  private pump(fd: number, buffers: ReadBuffers): Promise<void> {
    return new Promise((resolve, reject) => {
      let busy: Promise<void> | undefined;
      let failure: Error | undefined;
      const fail = (error: unknown) => {
        failure ??= error instanceof Error ? error : new Error(String(error));
        socket.destroy();
      };
      let brought = 0;
      // Returning false stops the reading; the buffer is not written to meanwhile.
      const take = (length: number): boolean => {
        brought = length;
        if (this.closed) return false;
        try {
          const done = this.sink.data(buffers.current.subarray(0, length));
          if (!(done instanceof Promise)) return true;
          busy = done.then(() => {
            busy = undefined;
            buffers.release();
            if (!this.closed) socket.resume();
          }, fail);
        } catch (error) {
          fail(error);
        }
        return false;
      };
      // Asked for once at first, then after each read.
      const nextBuffer = (): Buffer => {
        const next = buffers.next(brought);
        if (busy === undefined) buffers.release();
        return next;
      };
      const options: SocketConstructorOpts & { onread: OnReadOpts } = {
        fd,
        readable: true,
        writable: false,
        onread: { buffer: nextBuffer, callback: take },
      };
      const socket = new Socket(options);
      this.stop = () => socket.destroy();
      if (this.closed) this.stop();
      socket.once('end', this.stop);
      socket.once('error', fail);
      socket.once('close', () => {
        const finish = () => {
          buffers.end();
          if (failure === undefined) resolve();
          else reject(failure);
        };
        if (busy === undefined) finish();
        else void busy.then(finish);
      });
      // 'end' is only told to who lets data flow.
      socket.resume();
    });
  }
}
