import { setTimeout as pause } from 'node:timers/promises';
import { isDeadlineExceeded, type Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { ContainerLocks } from '../container/container-locks.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../tokens.js';
import { orAbort } from '../state/keyed-mutex.js';
import { killProcess } from './kill-process.js';
import { shimProcesses } from './shim-processes.js';

/** How long a shim may be silent while its pod is to end. */
const PATIENCE_MS = 10_000;
/** How long containerd may take to clean up after a killed shim. */
const CLEANED_MS = 10_000;
const LOOK_MS = 100;

/**
 * The way out for a pod whose shim hangs (stopped, deadlocked): nothing that goes through the shim would ever end. When the pod is to end anyhow
 * the shim is killed; containerd then kills what it ran and forgets its tasks.
 */
@scoped(Lifecycle.ContainerScoped)
export class SilentShims {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
  ) {}

  /**
   * Kills the shim of a pod that is being stopped or removed when a task of the pod says nothing for ten seconds. Not of a pod that never became
   * ready: its shim may still be making the pause process, and killed then would leave what the OCI runtime has begun.
   */
  async end(sandboxId: string, signal?: AbortSignal): Promise<void> {
    const { phase, ended } = this.sandboxes.get(sandboxId) ?? {};
    if ((phase !== 'ready' && phase !== 'stopped') || ended === true) return;
    const ids = this.containers.all().filter((container) => container.sandboxId === sandboxId).map(({ id }) => id);
    let silent = await orAbort(this.silent(sandboxId, PATIENCE_MS), signal);
    if (!silent) {
      // A start or a checkpoint under way may take its time: of its own container nothing is heard meanwhile.
      const told = ids.map((id) => this.locks.run(id, signal, () => this.silent(id, PATIENCE_MS)));
      silent = (await orAbort(Promise.all(told), signal)).includes(true);
    }
    if (!silent || signal?.aborted === true || !(await this.containerdAnswers(sandboxId))) return;
    const { namespace } = this.config.containerd;
    for (const pid of (await shimProcesses(this.roots.proc, namespace)).get(sandboxId) ?? []) {
      this.log.warn({ podSandboxId: sandboxId, pid }, 'the shim does not answer and is killed');
      killProcess(pid);
    }
    const late = performance.now() + CLEANED_MS;
    for (const id of [sandboxId, ...ids]) {
      while (performance.now() < late && (await this.silent(id, LOOK_MS))) await pause(LOOK_MS);
    }
  }

  /** containerd gives a shim two seconds, and then says either that it was late or that the state is unknown. */
  private async silent(id: string, patienceMs: number): Promise<boolean> {
    for (const late = performance.now() + patienceMs; ; await pause(LOOK_MS)) {
      try {
        const { status } = await this.containerd.tasks.get(id, undefined, { timeoutMs: Math.max(LOOK_MS, late - performance.now()) });
        if (status !== 'unknown') return false;
      } catch (error) {
        if (!isDeadlineExceeded(error)) return false;
      }
      if (performance.now() >= late) return true;
    }
  }

  private async containerdAnswers(id: string): Promise<boolean> {
    try {
      await this.containerd.containers.get(id, { timeoutMs: PATIENCE_MS });
      return true;
    } catch (error) {
      return !isDeadlineExceeded(error);
    }
  }
}
