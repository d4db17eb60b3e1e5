import { status } from '@grpc/grpc-js';
import { ShimError } from '../errors.js';

/** The largest delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The time a command may take, beside what its caller's signal says. */
export class TimeLimit {
  /** Aborts at the limit and when the caller goes away, until {@link clear}. */
  readonly signal: AbortSignal;
  private over = false;
  private detach: () => void = () => undefined;

  /** @param seconds 0 is no limit */
  constructor(
    private readonly seconds: bigint,
    private readonly caller: AbortSignal,
  ) {
    this.signal = seconds === 0n ? caller : this.begin();
  }

  /** Takes the timer and the listener back: to be called when the command's end is not awaited any more. */
  clear(): void {
    this.detach();
  }

  /** Whether the limit, and not the caller, ended the work. */
  passed(): boolean {
    return this.over && !this.caller.aborted;
  }

  error(cause: unknown): ShimError {
    return new ShimError(status.DEADLINE_EXCEEDED, `the command did not end within ${this.seconds} s and was killed`, { cause });
  }

  /** By hand, and not by `AbortSignal.any` of a signal with a timeout: those cost a probe more, and stay until they are collected. */
  private begin(): AbortSignal {
    const { caller } = this;
    if (caller.aborted) return caller;
    const ended = new AbortController();
    const end = (reason: unknown) => {
      this.detach();
      ended.abort(reason);
    };
    const leave = () => end(caller.reason);
    const late = setTimeout(
      () => {
        this.over = true;
        end(new DOMException('the time of the command is over', 'TimeoutError'));
      },
      Math.min(Number(this.seconds) * 1000, MAX_TIMER_MS),
    );
    caller.addEventListener('abort', leave);
    this.detach = () => {
      clearTimeout(late);
      caller.removeEventListener('abort', leave);
    };
    return ended.signal;
  }
}
