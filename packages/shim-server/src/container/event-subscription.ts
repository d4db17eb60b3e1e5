import { status } from '@grpc/grpc-js';
import { ShimError } from '../errors.js';
import { orAbort } from '../state/keyed-mutex.js';

/** Events that wait for a reader. What a node makes in a minute of the heaviest churn is below it. */
const BACKLOG = 4_096;

/**
 * The events of one reader, in order. A reader that falls too far behind gets the events that waited and then an error, so that it
 * knows that it missed some: it has to list, and to subscribe again.
 */
export class EventSubscription<Event> {
  private readonly waiting: Event[] = [];
  private ended: { readonly error?: Error } | undefined;
  private wake: (() => void) | undefined;

  constructor(private readonly backlog = BACKLOG) {}

  push(event: Event): void {
    if (this.ended !== undefined) return;
    if (this.waiting.length >= this.backlog) {
      this.end(
        new ShimError(
          status.RESOURCE_EXHAUSTED,
          `the reader is ${this.backlog} events behind, later ones are lost: list, and subscribe again`,
        ),
      );
      return;
    }
    this.waiting.push(event);
    this.wake?.();
  }

  /** What waits is still read; then the reader is done, or fails with `error`. */
  end(error?: Error): void {
    this.ended ??= error === undefined ? {} : { error };
    this.wake?.();
  }

  /** @throws the signal's reason as soon as it aborts */
  async *read(signal: AbortSignal): AsyncGenerator<Event> {
    for (;;) {
      signal.throwIfAborted();
      const event = this.waiting.shift();
      if (event !== undefined) {
        yield event;
        continue;
      }
      if (this.ended?.error !== undefined) throw this.ended.error;
      if (this.ended !== undefined) return;
      await orAbort(new Promise<void>((resolve) => (this.wake = resolve)), signal);
    }
  }
}
