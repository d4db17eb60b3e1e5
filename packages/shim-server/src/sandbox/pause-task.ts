import type { Containerd, Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { RuntimeHandler } from '../runtime/runtime-handlers.js';
import { discardTask } from '../runtime/reach-task.js';
import { Token } from '../tokens.js';

/** The process that holds a sandbox's namespaces: a containerd task under the sandbox's id. */
@scoped(Lifecycle.ContainerScoped)
export class PauseTask {
  constructor(@inject(Token.Containerd) private readonly containerd: Containerd) {}

  /** Creates and starts it. @returns its pid */
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

  async start(sandboxId: string, signal?: AbortSignal): Promise<void> {
    await this.containerd.tasks.start(sandboxId, undefined, signal === undefined ? {} : { signal });
  }

  /** Kills it and removes the task; one that is gone already, with or without its shim, is fine. */
  async remove(sandboxId: string, signal?: AbortSignal): Promise<void> {
    await discardTask(this.containerd, sandboxId, signal === undefined ? {} : { signal });
  }
}
