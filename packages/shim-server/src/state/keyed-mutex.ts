/** Lets one holder per key in at a time, in the order of asking. */
export class KeyedMutex {
  private readonly tails = new Map<string, Promise<void>>();

  /**
   * Runs `work` when every earlier holder of `key` is done.
   *
   * @throws the signal's reason when it aborts while still waiting; the place in the queue is then given up.
   */
  async run<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const before = this.tails.get(key) ?? Promise.resolve();
    const { promise: mine, resolve: release } = newDeferred();
    const tail = before.then(() => mine);
    this.tails.set(key, tail);
    try {
      await orAbort(before, signal);
      return await work();
    } finally {
      release();
      // A waiter that gives up may be the last in the queue while somebody before it still holds the key.
      void tail.then(() => {
        if (this.tails.get(key) === tail) this.tails.delete(key);
      });
    }
  }
}

function newDeferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((r) => (resolve = r));
  return { promise, resolve };
}

/** `promise`, or the signal's reason as soon as it aborts. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  // Nobody may be left to hear of its failure, which would end the daemon then.
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
