import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { toStatus } from '../grpc/status.js';
import { Token, type Sandboxes } from '../tokens.js';
import { SandboxTeardown } from './sandbox-teardown.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/**
 * Undo that is owed: sandboxes whose teardown failed are tried again, with growing pauses, until it succeeds or somebody removed
 * them. What is owed stands in their records, so a restart of the daemon goes on with it.
 */
@scoped(Lifecycle.ContainerScoped)
export class TeardownRetries {
  private readonly owed = new Set<string>();
  private readonly ended = new AbortController();

  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
    @inject(Token.Logger) private readonly log: Logger,
  ) {}

  /** Owes the teardown of a sandbox; a failed creation is removed altogether when it succeeds. */
  owe(sandboxId: string): void {
    if (this.owed.has(sandboxId) || this.ended.signal.aborted) return;
    this.owed.add(sandboxId);
    void this.retry(sandboxId).finally(() => this.owed.delete(sandboxId));
  }

  /** Ends the waiting; what is owed stays in the records. */
  stop(): void {
    this.ended.abort();
  }

  private async retry(sandboxId: string): Promise<void> {
    for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      try {
        await pause(ms, undefined, { signal: this.ended.signal, ref: false });
      } catch {
        return;
      }
      const sandbox = this.sandboxes.get(sandboxId);
      if (sandbox === undefined) return;
      try {
        if (sandbox.phase === 'failed') await this.teardown.remove(sandboxId);
        else await this.teardown.stop(sandboxId);
        this.log.info({ podSandboxId: sandboxId }, 'owed teardown done');
        return;
      } catch (error) {
        this.log.warn({ podSandboxId: sandboxId, err: toStatus(error).message, nextMs: ms * 2 }, 'owed teardown failed');
      }
    }
  }
}
