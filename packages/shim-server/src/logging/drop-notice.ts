import type { Logger } from 'pino';

/** How often it is said while it goes on. */
const AGAIN_MS = 60_000;

/** Says that a log loses records: at once, and while that goes on once a minute how many have been lost since. */
export class DropNotice {
  private untold = 0;
  private toldAt = -Infinity;

  constructor(
    private readonly log: Pick<Logger, 'warn'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(records: number, error: Error): void {
    this.untold += records;
    if (this.now() - this.toldAt < AGAIN_MS) return;
    this.toldAt = this.now();
    this.log.warn({ droppedRecords: this.untold, err: error.message }, 'log records are dropped');
    this.untold = 0;
  }
}
