/** Runs actions of one key one after the other, those of different keys beside one another. */
export class KeyedLock {
  private readonly tails = new Map<string, Promise<unknown>>();

  async run<T>(key: string, action: () => Promise<T>): Promise<T> {
    const before = this.tails.get(key) ?? Promise.resolve();
    const own = before.then(action, action);
    this.tails.set(key, own);
    try {
      return await own;
    } finally {
      if (this.tails.get(key) === own) this.tails.delete(key);
    }
  }
}
