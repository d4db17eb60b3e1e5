import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { lifetime } from '../runtime/lifetime.js';
import { ProcessEnd } from '../runtime/process-end.js';
import { stopped } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';
import { SandboxTeardown } from './sandbox-teardown.js';

/** Notices when a pause process ends by itself: its sandbox is then not ready. */
@scoped(Lifecycle.ContainerScoped)
export class SandboxWatch {
  private readonly ended = lifetime();

  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
    @inject(ProcessEnd) private readonly processEnd: ProcessEnd,
    @inject(Token.Logger) private readonly log: Logger,
  ) {}

  /** @param listenMs how long containerd's events are all that is listened to. Default 0 */
  begin(sandboxId: string, listenMs = 0): void {
    void this.processEnd.of(sandboxId, { signal: this.ended.signal, onShim: true, listenMs }).then(
      (exit) => {
        if (this.sandboxes.get(sandboxId)?.phase !== 'ready' || this.teardown.isStopping(sandboxId)) return;
        this.log.info({ podSandboxId: sandboxId, exitStatus: exit.exitStatus }, 'pause process ended');
        this.sandboxes.amend(sandboxId, stopped);
      },
      () => undefined,
    );
  }

  stop(): void {
    this.ended.abort();
  }
}
