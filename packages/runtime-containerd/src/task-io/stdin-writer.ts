import { constants, open } from 'node:fs';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';

const openFile = promisify(open);

/** Between attempts to open a FIFO that nobody reads yet. */
const FIRST_RETRY_MS = 5;
const LAST_RETRY_MS = 250;

/**
 * The write end of a standard input FIFO. It may be made before there is a reader: what is written waits, and the FIFO is
 * tried again until the shim has opened it. A reader that goes away closes the writer (`close` event) without an error.
 *
 * The runc shim keeps a write end of its own: the process sees the end of its input after `tasks.closeIo`, not after `end()`.
 */
export class StdinWriter extends Writable {
  private readonly closing = new AbortController();
  private socket: Socket | undefined;

  constructor(private readonly path: string) {
    super({ highWaterMark: 64 * 1024, decodeStrings: true });
    // Destroying it while the open is being retried would otherwise be an unhandled error of whoever closes it on purpose.
    this.on('error', () => undefined);
  }

  /** Works at any time: a stream that is not yet open would otherwise be destroyed only once it is. */
  override destroy(error?: Error): this {
    // Nobody looks at the reason; without one an error is made, with its stack.
    this.closing.abort('closed');
    return super.destroy(error);
  }

  override _construct(callback: (error?: Error | null) => void): void {
    this.connect().then(() => callback(), callback);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const { socket } = this;
    if (socket === undefined || socket.destroyed) {
      callback();
      return;
    }
    // A reader that has gone takes no more: that is the end, not a failure of the one who writes.
    const settle = once(callback);
    socket.once('close', settle);
    socket.write(chunk, () => {
      socket.removeListener('close', settle);
      settle();
    });
  }

  override _final(callback: (error?: Error | null) => void): void {
    const { socket } = this;
    if (socket === undefined || socket.destroyed) callback();
    else {
      socket.once('close', () => callback());
      socket.end();
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.socket?.destroy();
    callback(error);
  }

  private async connect(): Promise<void> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      if (this.closing.signal.aborted) return;
      try {
        const fd = await openFile(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
        this.attach(new Socket({ fd, readable: false, writable: true }));
        return;
      } catch (error) {
        // ENXIO: nobody has it open for reading.
        if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      }
      await this.pause(wait);
    }
  }

  private attach(socket: Socket): void {
    this.socket = socket;
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.destroy());
    if (this.closing.signal.aborted) socket.destroy();
  }

  private async pause(ms: number): Promise<void> {
    const { signal } = this.closing;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done);
    });
  }
}

function once(callback: () => void): () => void {
  let called = false;
  return () => {
    if (called) return;
    called = true;
    callback();
  };
}
