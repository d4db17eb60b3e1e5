import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { toStatus } from '../grpc/status.js';
import { lifetime } from './lifetime.js';
import { Token } from '../tokens.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** Longest time for one attempt. */
const ATTEMPT_MS = 120_000;

/**
 * Undo that is owed: it is tried again, with growing pauses, until it succeeds. That it is owed also stands in the record of its object, so
 * that a restart of the daemon goes on with it.
 */
@scoped(Lifecycle.ContainerScoped)
export class OwedWork {
  private readonly owed = new Set<string>();
  private readonly ended = lifetime();

  constructor(@inject(Token.Logger) private readonly log: Logger) {}

  /**
   * @param id of the object; it owes one piece of work at a time.
   * @param what in words, for the log.
   * @param work succeeds when there is nothing left to do, also when somebody else did it.
   */
  owe(id: string, what: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.owed.has(id) || this.ended.signal.aborted) return;
    this.owed.add(id);
    void this.retry(id, what, work).finally(() => this.owed.delete(id));
  }

  /** Ends the waiting. */
  stop(): void {
    this.ended.abort();
  }

  private async retry(id: string, what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      try {
        await pause(ms, undefined, { signal: this.ended.signal, ref: false });
      } catch {
        return;
      }
      try {
        await work(AbortSignal.timeout(ATTEMPT_MS));
        this.log.info({ id }, `${what}: done`);
        return;
      } catch (error) {
        this.log.warn({ id, err: toStatus(error).message, nextMs: ms * 2 }, `${what}: failed, to be tried again`);
      }
    }
  }
}
