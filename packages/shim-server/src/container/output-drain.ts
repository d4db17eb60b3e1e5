import type { OutputReader, OutputSink } from '@criquet/runtime-containerd';
import type { OutputStream } from '../streaming/index.js';

const LOOK_MS = 50;

/** The outputs of one command on their way to its client; it knows when they have come to rest. */
export class OutputDrain {
  private underWay = 0;
  private lastMoved = performance.now();

  /** @param refused told of the first chunk that nobody takes; what follows is read and dropped */
  constructor(private readonly refused: () => void) {}

  sink(stream: OutputStream | undefined): OutputSink {
    return {
      data: async (chunk) => {
        if (stream === undefined) return;
        this.underWay += 1;
        const taken = await stream.write(chunk);
        this.underWay -= 1;
        this.lastMoved = performance.now();
        if (!taken) this.refused();
      },
      end: () => undefined,
    };
  }

  /**
   * Resolves when the readers have ended, or when nothing was on its way for `ms`: a child that the command left may hold the streams
   * open for ever, and a slow client must get all the same what the command has written.
   */
  async settled(readers: readonly OutputReader[], ms: number, signal: AbortSignal): Promise<void> {
    this.lastMoved = performance.now();
    await new Promise<void>((resolve) => {
      const done = () => {
        clearInterval(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setInterval(() => {
        if (this.underWay === 0 && performance.now() - this.lastMoved > ms) done();
      }, LOOK_MS);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
      void Promise.allSettled(readers.map((reader) => reader.ended)).then(done);
    });
  }
}
