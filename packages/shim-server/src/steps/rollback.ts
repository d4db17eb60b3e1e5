import type { Logger } from 'pino';
import { toStatus } from '../grpc/status.js';
import { orAbort } from '../state/keyed-mutex.js';
import type { Failpoints } from './failpoints.js';
import type { Call, Place, UndoOf } from './registry.js';

/** How long one undo may take; a caller's own deadline never counts here. */
const UNDO_TIMEOUT_MS = 30_000;

interface Undo {
  readonly what: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/**
 * Collects the undo of each acquisition beside its deed and, when the call fails,
 * runs them in reverse order, each on a deadline of its own.
 */
export class Rollback<in U extends string> {
  private readonly undos: Undo[] = [];

  private constructor(
    private readonly call: Call,
    private readonly failpoints: Failpoints,
    private readonly log: Logger,
  ) {}

  static of<C extends Call>(call: C, failpoints: Failpoints, log: Logger): Rollback<UndoOf<C>> {
    return new Rollback<UndoOf<C>>(call, failpoints, log);
  }

  /** Registers an undo; `what` says in the words of the registry what it takes back. */
  add(what: U, run: (signal: AbortSignal) => Promise<void>): void {
    this.undos.push({ what, run });
  }

  /**
   * Takes everything back.
   *
   * Stops at the first undo that fails: what was acquired before may be needed to try that one again
   * (a CNI DEL before the record that names it is gone).
   *
   * @returns whether everything was undone.
   */
  async run(): Promise<boolean> {
    for (let undo = this.undos.pop(); undo !== undefined; undo = this.undos.pop()) {
      const deadline = new AbortController();
      const late = setTimeout(() => deadline.abort(new DOMException('the undo takes too long', 'TimeoutError')), UNDO_TIMEOUT_MS);
      try {
        await orAbort(this.take(undo, deadline.signal), deadline.signal);
      } catch (error) {
        this.log.error({ undo: undo.what, err: toStatus(error).message }, 'undo failed');
        return false;
      } finally {
        clearTimeout(late);
      }
    }
    return true;
  }

  private async take({ what, run }: Undo, deadline: AbortSignal): Promise<void> {
    const place = `${this.call}/undo: ${what}` as Place;
    await this.failpoints.reach(place, 'before');
    await run(deadline);
    await this.failpoints.reach(place, 'after');
  }
}
