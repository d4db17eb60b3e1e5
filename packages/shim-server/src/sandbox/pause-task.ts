import type { Containerd, Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { RuntimeHandler } from '../runtime/runtime-handlers.js';
import { discardTask } from '../runtime/reach-task.js';
import { killProcess } from '../runtime/kill-process.js';
import { Shims } from '../runtime/shims.js';
import { stopped } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';

/** How long its shim may take to tell that it has ended. */
const ENDED_MS = 2_000;

/** The process that holds a sandbox's namespaces: a containerd task under the sandbox's id. */
@scoped(Lifecycle.ContainerScoped)
export class PauseTask {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Shims) private readonly shims: Shims,
  ) {}

  /** @returns its pid */
  async create(sandboxId: string, rootfs: readonly Mount[], handler: RuntimeHandler, signal?: AbortSignal): Promise<number> {
    const { tasks } = this.containerd;
    const options = signal === undefined ? {} : { signal };
    return tasks.create(
      {
        containerId: sandboxId,
        rootfs,
        stdin: '',
        stdout: '',
        stderr: '',
        terminal: false,
        ...handler.task,
      },
      options,
    );
  }

  /** One that runs already, by a daemon that was killed before it heard of it, is fine. */
  async start(sandboxId: string): Promise<void> {
    const { tasks } = this.containerd;
    try {
      await tasks.start(sandboxId);
    } catch (error) {
      const { status } = await tasks.get(sandboxId).catch(() => ({ status: 'unknown' }));
      if (status !== 'running') throw error;
    }
  }

  /** Kills it and removes the task; one that is gone already, with or without its shim, is fine. */
  async remove(sandboxId: string, signal?: AbortSignal): Promise<void> {
    await discardTask(this.containerd, sandboxId, { end: () => this.end(sandboxId, signal), ...(signal === undefined ? {} : { signal }) });
  }

  /** It is one process, and a signal ends it: an OCI runtime that is run to send that takes longer than all the rest. */
  private async end(sandboxId: string, signal?: AbortSignal): Promise<boolean> {
    const pid = this.sandboxes.get(sandboxId)?.pid ?? 0;
    if (pid === 0 || !(await this.shims.isChild(sandboxId, pid))) return false;
    killProcess(pid);
    const late = AbortSignal.timeout(ENDED_MS);
    const ended = await this.shims.wait(sandboxId, '', signal === undefined ? late : AbortSignal.any([signal, late])).then(
      () => true,
      () => false,
    );
    // Whatever becomes of its task: without it the sandbox is not ready.
    if (ended && this.sandboxes.get(sandboxId) !== undefined) this.sandboxes.note(sandboxId, stopped);
    return ended;
  }
}
