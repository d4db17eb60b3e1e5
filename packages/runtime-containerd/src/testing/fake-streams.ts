import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { MessageQueue } from '../grpc/message-queue.js';
import type { TaskStreams } from '../services/tasks.js';
import { FakeStatus } from './fake-status.js';

type Paths = Pick<TaskStreams, 'stdin' | 'stdout' | 'stderr'>;

const RETRY_MS = 5;

/**
 * A process's FIFOs as the runc shim holds them: of each output the write end and, so that the container never gets SIGPIPE,
 * a read end too; of standard input the read end and, until CloseIO, a write end.
 */
export class FakeStreams {
  private readonly outputs = new Map<string, { readonly writer: Socket; readonly keeper: number }>();
  private stdin: Socket | undefined;
  private input: MessageQueue<Buffer> | undefined;
  private stdinKeeper: number | undefined;
  private closed = false;

  /**
   * Opens what there is. As the shim, it waits until somebody reads each output, and fails when the call is given up.
   * @throws FakeStatus UNKNOWN when a FIFO cannot be opened
   */
  static async open(paths: Paths, signal: AbortSignal): Promise<FakeStreams> {
    const streams = new FakeStreams();
    try {
      if (paths.stdin !== '') streams.openStdin(paths.stdin);
      for (const stream of ['stdout', 'stderr'] as const) {
        if (paths[stream] !== '') await streams.openOutput(stream, paths[stream], signal);
      }
      return streams;
    } catch (error) {
      streams.destroy();
      throw new FakeStatus(status.UNKNOWN, `failed to create shim task: containerd-shim: opening fifo: ${(error as Error).message}`);
    }
  }

  private openStdin(path: string): void {
    const socket = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false });
    this.stdinKeeper = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const queue = new MessageQueue<Buffer>({ pause: () => socket.pause(), resume: () => socket.resume() }, () => undefined);
    socket.on('data', (chunk: Buffer) => queue.push(chunk));
    socket.on('end', () => queue.end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => queue.end());
    this.stdin = socket;
    this.input = queue;
  }

  private async openOutput(stream: 'stdout' | 'stderr', path: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      if (signal.aborted) throw new Error('context canceled');
      try {
        const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
        const keeper = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
        const writer = new Socket({ fd, readable: false, writable: true });
        writer.on('error', () => writer.destroy());
        this.outputs.set(stream, { writer, keeper });
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  }

  /** Resolves when it is in the FIFO; never while the FIFO is full and nobody reads. Nothing happens without such a stream. */
  async write(stream: 'stdout' | 'stderr', data: string | Uint8Array): Promise<void> {
    const writer = this.outputs.get(stream)?.writer;
    if (writer === undefined || writer.destroyed) return;
    await new Promise<void>((resolve) => {
      writer.once('close', resolve);
      writer.write(data, () => {
        writer.removeListener('close', resolve);
        resolve();
      });
    });
  }

  /** What comes on standard input, to its end; undefined without one. */
  read(): AsyncIterable<Buffer> | undefined {
    return this.input;
  }

  closeStdin(): void {
    if (this.stdinKeeper !== undefined) closeSync(this.stdinKeeper);
    this.stdinKeeper = undefined;
  }

  /** Ends the outputs after what was written, as the shim does when the process has exited. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.closeStdin();
    this.stdin?.destroy();
    await Promise.all(
      [...this.outputs.values()].map(async ({ writer, keeper }) => {
        await new Promise<void>((resolve) => {
          if (writer.destroyed) return resolve();
          writer.once('close', () => resolve());
          writer.end();
        });
        closeSync(keeper);
      }),
    );
  }

  /** As when the shim is killed: what is not yet in a FIFO is lost. */
  destroy(): void {
    for (const { writer } of this.outputs.values()) writer.destroy();
    void this.close();
  }
}
