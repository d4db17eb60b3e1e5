import type { Logger } from 'pino';
import type { Failpoints } from './failpoints.js';
import { inStep } from './step-error.js';

/** What a finished step looked like; a trace span is made of it. */
export interface StepRecord {
  readonly call: string;
  readonly step: string;
  readonly milliseconds: number;
  readonly failed: boolean;
}

/**
 * The steps of one call: each has a name that says what it does, and that name is
 * its failpoint, its place in the trace and the beginning of its error message.
 */
export class Steps {
  private readonly underWay = new Set<string>();

  constructor(
    private readonly call: string,
    private readonly failpoints: Failpoints,
    private readonly log: Logger,
  ) {}

  /** The steps that are under way, in words; "" between two. */
  get current(): string {
    return [...this.underWay].join(', ');
  }

  async do<T>(step: string, deed: () => Promise<T> | T): Promise<T> {
    const began = performance.now();
    let failed = true;
    this.underWay.add(step);
    try {
      const result = await inStep(step, async () => {
        await this.failpoints.reach(`${this.call}/${step}`);
        return await deed();
      });
      failed = false;
      return result;
    } finally {
      this.underWay.delete(step);
      const milliseconds = Math.round((performance.now() - began) * 100) / 100;
      const record: StepRecord = { call: this.call, step, milliseconds, failed };
      this.log.debug(record, 'step');
    }
  }
}
