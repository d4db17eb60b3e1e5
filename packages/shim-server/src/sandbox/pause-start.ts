import { setTimeout as pause } from 'node:timers/promises';
import { isUnavailable } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { toStatus } from '../grpc/status.js';
import { lifetime } from '../runtime/lifetime.js';
import { stopped } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Sandboxes } from '../tokens.js';
import { PauseTask } from './pause-task.js';

/** So much later than the answer that this is on its way, and CreateContainer, which follows it, has the processor: StartContainer waits for an OCI runtime anyway. */
const BEHIND_MS = 10;
/** How long containerd may be away: it restarts within a second or two. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Starts pause processes behind the answer of RunPodSandbox. What a pod is given by then, namespaces with their host name and sysctls, cgroup and network, is there when the
 * process is created; to start it, an OCI runtime is run once more. No container is started before, so that the first process of a shared PID namespace is the pause process.
 *
 * A daemon that is killed before finds the sandbox ready and its task created, and starts it then.
 */
@scoped(Lifecycle.ContainerScoped)
export class PauseStart {
  /** By sandbox. */
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly ended = lifetime();

  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(PauseTask) private readonly task: PauseTask,
  ) {}

  /** A sandbox whose pause process cannot be started is not ready. */
  begin(sandboxId: string): void {
    const start = this.start(sandboxId).finally(() => this.underWay.delete(sandboxId));
    this.underWay.set(sandboxId, start);
  }

  /** Resolves when it is started, or cannot be: at once where nothing is under way. */
  async settled(sandboxId: string): Promise<void> {
    await this.underWay.get(sandboxId);
  }

  stop(): void {
    this.ended.abort('over');
  }

  private async start(podSandboxId: string): Promise<void> {
    await pause(BEHIND_MS);
    const log = this.log.child({ podSandboxId });
    try {
      await Steps.of('PauseStart', this.failpoints, log).do('start the pause process', () => this.persistently(podSandboxId));
    } catch (error) {
      // The next daemon sees to it.
      if (this.ended.signal.aborted) return;
      log.error({ err: toStatus(error).message }, 'the pause process could not be started: the sandbox is not ready');
      if (this.sandboxes.get(podSandboxId) !== undefined) this.sandboxes.amend(podSandboxId, stopped);
    }
  }

  private async persistently(sandboxId: string): Promise<void> {
    const late = performance.now() + PATIENCE_MS;
    for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      try {
        await this.task.start(sandboxId);
        return;
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > late) throw error;
        await pause(ms, undefined, { signal: this.ended.signal });
      }
    }
  }
}
