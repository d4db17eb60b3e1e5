import { orAbort } from './keyed-mutex.js';

/** Lets a number of deeds run at once; the others wait in order. */
export class Slots {
  private readonly waiting: (() => void)[] = [];
  private free: number;

  /** @param limit 0 is no limit */
  constructor(limit: number) {
    this.free = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  }

  async run<T>(signal: AbortSignal | undefined, deed: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await this.turn(signal);
    try {
      return await deed();
    } finally {
      this.pass();
    }
  }

  /** Gives a slot to the next one that waits. */
  private pass(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }

  private async turn(signal: AbortSignal | undefined): Promise<void> {
    let take!: () => void;
    const turn = new Promise<void>((resolve) => (take = resolve));
    this.waiting.push(take);
    try {
      await orAbort(turn, signal);
    } catch (error) {
      const place = this.waiting.indexOf(take);
      // Its turn may have come in the same moment.
      if (place === -1) this.pass();
      else this.waiting.splice(place, 1);
      throw error;
    }
  }
}
