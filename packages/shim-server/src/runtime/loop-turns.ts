import { Lifecycle, scoped } from 'tsyringe';

/** Far below what a caller would notice, and long enough that the turns themselves cost nothing. */
const TURN_MS = 2;

/**
 * Work that holds up the event loop, in pieces of far less than a millisecond: as many as go into a turn are done at once, then everything else that waits has
 * its own turn.
 */
@scoped(Lifecycle.ContainerScoped)
export class LoopTurns {
  private readonly waiting: (() => void)[] = [];
  private next = 0;
  private underWay = false;

  /** Does the piece in one of the next turns, after those that came before it. */
  run<T>(piece: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.push(() => {
        try {
          resolve(piece());
        } catch (error) {
          reject(error as Error);
        }
      });
      if (this.underWay) return;
      this.underWay = true;
      setImmediate(this.turn);
    });
  }

  private readonly turn = (): void => {
    const end = performance.now() + TURN_MS;
    do this.waiting[this.next++]?.();
    while (this.next < this.waiting.length && performance.now() < end);
    if (this.next < this.waiting.length) {
      setImmediate(this.turn);
      return;
    }
    this.waiting.length = 0;
    this.next = 0;
    this.underWay = false;
  };
}
