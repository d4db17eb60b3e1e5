import type { Logger } from 'pino';
import { toStatus } from '../grpc/status.js';
import { orAbort } from '../state/keyed-mutex.js';

/** How long one undo may take; a caller's own deadline never counts here. */
const UNDO_TIMEOUT_MS = 30_000;

interface Undo {
  readonly description: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/**
 * Collects the undo of each acquisition beside its deed and, when the call fails,
 * runs them in reverse order, each on a deadline of its own.
 */
export class Rollback {
  private readonly undos: Undo[] = [];

  constructor(private readonly log: Logger) {}

  /** Registers an undo; `description` says in words what it takes back. */
  add(description: string, run: (signal: AbortSignal) => Promise<void>): void {
    this.undos.push({ description, run });
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
      try {
        const deadline = AbortSignal.timeout(UNDO_TIMEOUT_MS);
        await orAbort(undo.run(deadline), deadline);
      } catch (error) {
        this.log.error({ undo: undo.description, err: toStatus(error).message }, 'undo failed');
        return false;
      }
    }
    return true;
  }
}
