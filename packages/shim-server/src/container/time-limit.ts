import { status } from '@grpc/grpc-js';
import { ShimError } from '../errors.js';

/** The largest delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The time a command may take, beside what its caller's signal says. */
export class TimeLimit {
  /** Aborts at the limit and when the caller goes away. */
  readonly signal: AbortSignal;
  private readonly limit: AbortSignal | undefined;

  /** @param seconds 0 is no limit */
  constructor(
    private readonly seconds: bigint,
    private readonly caller: AbortSignal,
  ) {
    this.limit = seconds === 0n ? undefined : AbortSignal.timeout(Math.min(Number(seconds) * 1000, MAX_TIMER_MS));
    this.signal = this.limit === undefined ? caller : AbortSignal.any([caller, this.limit]);
  }

  /** Whether the limit, and not the caller, ended the work. */
  passed(): boolean {
    return this.limit?.aborted === true && !this.caller.aborted;
  }

  error(cause: unknown): ShimError {
    return new ShimError(status.DEADLINE_EXCEEDED, `the command did not end within ${this.seconds} s and was killed`, { cause });
  }
}
