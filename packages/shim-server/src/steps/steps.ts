import type { Logger } from 'pino';
import type { Failpoints } from './failpoints.js';
import type { Call, Place, StepOf } from './registry.js';
import { inStep } from './step-error.js';

/** What a finished step looked like; a trace span is made of it. */
export interface StepRecord {
  readonly call: string;
  readonly step: string;
  readonly milliseconds: number;
  readonly failed: boolean;
}

/**
 * The steps of one call: each has a name that says what it does, and that name is its failpoint, its place in the trace and the beginning of
 * its error message. The names are those of the registry. Work that calls share takes the steps of whichever call it is done for:
 * `Steps<'a' | 'b' | 'c'>` is a `Steps<'a' | 'b'>`.
 */
export class Steps<in S extends string> {
  private readonly underWay = new Set<string>();

  private constructor(
    private readonly call: Call,
    private readonly failpoints: Failpoints,
    private readonly log: Logger,
  ) {}

  static of<C extends Call>(call: C, failpoints: Failpoints, log: Logger): Steps<StepOf<C>> {
    return new Steps<StepOf<C>>(call, failpoints, log);
  }

  /** The steps that are under way, in words; "" between two. */
  get current(): string {
    return [...this.underWay].join(', ');
  }

  async do<T>(step: S, deed: () => Promise<T> | T): Promise<T> {
    const began = performance.now();
    // The types of `of` hold this to the registry.
    const place = `${this.call}/${step}` as Place;
    let failed = true;
    this.underWay.add(step);
    try {
      const result = await inStep(step, async () => {
        await this.failpoints.reach(place, 'before');
        const done = await deed();
        await this.failpoints.reach(place, 'after');
        return done;
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
