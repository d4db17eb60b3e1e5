/**
 * Messages that arrive by callback, read as an async iterable by one reader. Unlike a Readable's own iterator it keeps an
 * error that comes before anybody reads.
 */
export class MessageQueue<T> implements AsyncIterableIterator<T> {
  private readonly waiting: T[] = [];
  private reader: { resolve(result: IteratorResult<T>): void; reject(error: Error): void } | undefined;
  private ended: { readonly error?: Error } | undefined;

  /**
   * @param flow called when the queue has grown to `highWater` (`pause`) and when it is empty again (`resume`)
   * @param onReturn called when the reader stops before the end
   */
  constructor(
    private readonly flow: { pause(): void; resume(): void },
    private readonly onReturn: () => void,
    private readonly highWater = 64,
  ) {}

  push(message: T): void {
    if (this.ended !== undefined) return;
    if (this.reader !== undefined) {
      this.take()?.resolve({ done: false, value: message });
      return;
    }
    this.waiting.push(message);
    if (this.waiting.length === this.highWater) this.flow.pause();
  }

  /** No more messages follow. What is waiting can still be read; then the reader sees the end, or the error. */
  end(error?: Error): void {
    if (this.ended !== undefined) return;
    this.ended = error === undefined ? {} : { error };
    const reader = this.take();
    if (error === undefined) reader?.resolve({ done: true, value: undefined });
    else reader?.reject(error);
  }

  next(): Promise<IteratorResult<T>> {
    if (this.waiting.length > 0) {
      const value = this.waiting.shift() as T;
      if (this.waiting.length === 0) this.flow.resume();
      return Promise.resolve({ done: false, value });
    }
    if (this.ended?.error !== undefined) return Promise.reject(this.ended.error);
    if (this.ended !== undefined) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.reader = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<T>> {
    this.waiting.length = 0;
    this.end();
    this.onReturn();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private take() {
    const reader = this.reader;
    this.reader = undefined;
    return reader;
  }
}
