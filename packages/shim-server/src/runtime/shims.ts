import { isNotFound, isUnavailable, shimAddress, ShimTasks, type CallOptions, type Containerd, type Exit, type NewExec, type Tasks } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { notFound } from '../errors.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../tokens.js';
import { readCommand, readParent } from './process-table.js';
import { shimOf, shimProcesses } from './shim-processes.js';

/** How long one look at all of the machine's processes serves everybody: when containerd goes, all containers ask at once. */
const LOOK_MS = 1_000;

/** The pods' shims, for what they can be asked without containerd. */
@scoped(Lifecycle.ContainerScoped)
export class Shims implements Pick<Tasks, 'exec' | 'deleteProcess'> {
  /** By sandbox. */
  private readonly known = new Map<string, ShimTasks>();
  private looked: Promise<Map<string, number[]>> | undefined;
  private lookedAt = 0;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
  ) {
    sandboxes.observe((before, after) => {
      if (before !== undefined && after === undefined) this.forget(before.id);
    });
  }

  /** As containerd does it, but for its part of the way. Where the shim cannot be asked, containerd is. */
  exec(process: NewExec, options?: CallOptions): Promise<void> {
    return this.rather(process.containerId, (tasks) => tasks.exec(process, options));
  }

  /** See {@link exec}. */
  deleteProcess(containerId: string, execId: string, options?: CallOptions): Promise<Exit> {
    return this.rather(containerId, (tasks) => tasks.deleteProcess(containerId, execId, options));
  }

  /** Waits for a process, for which containerd need not be there. @throws ContainerdError, NOT_FOUND where the shim is not there */
  async wait(containerId: string, execId: string, signal: AbortSignal): Promise<Exit> {
    const sandboxId = this.sandboxOf(containerId);
    const shim = (await this.parent(sandboxId, containerId)) ?? (await this.listed(sandboxId));
    if (shim === undefined) throw notFound('shim of pod', sandboxId);
    try {
      return await shim.wait(containerId, execId, { signal });
    } catch (error) {
      // It may be another by now; not where nobody waits any more.
      if (!signal.aborted) this.forget(sandboxId);
      throw error;
    }
  }

  /** Whether what concerns a container is asked of its shim at once. */
  isKnown(containerId: string): boolean {
    return this.known.has(this.sandboxOf(containerId));
  }

  /** How a command ended, told by the shim that {@link exec} has asked. @throws NOT_FOUND where it was containerd that it asked, or ContainerdError */
  exited(containerId: string, execId: string): Promise<Exit> {
    const shim = this.known.get(this.sandboxOf(containerId));
    return shim === undefined ? Promise.reject(notFound('shim of container', containerId)) : shim.exited(containerId, execId);
  }

  /**
   * Ends the shim of a sandbox that has nothing left, where it is still there: containerd 2.1 leaves the shim of a sandbox whose own task was deleted before that of its
   * last container.
   */
  async shutDown(sandboxId: string): Promise<void> {
    if (this.containers.all().some((container) => container.sandboxId === sandboxId)) return;
    try {
      // One that was started since the last look must be found.
      const shim = this.known.get(sandboxId) ?? (await this.listed(sandboxId, 0));
      await shim?.shutDown(sandboxId);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  /** Whether a process was started by the sandbox's shim, and is no other that has its pid by now. */
  async isChild(sandboxId: string, pid: number): Promise<boolean> {
    return (await this.parentOf(pid, sandboxId)) !== undefined;
  }

  private async rather<T>(containerId: string, deed: (tasks: Pick<Tasks, 'exec' | 'deleteProcess'>) => Promise<T>): Promise<T> {
    const sandboxId = this.sandboxOf(containerId);
    const shim = await this.parent(sandboxId, containerId).catch(() => undefined);
    if (shim !== undefined) {
      try {
        return await deed(shim);
      } catch (error) {
        if (!isUnavailable(error) && !isNotFound(error)) throw error;
        this.forget(sandboxId);
      }
    }
    return deed(this.containerd.tasks);
  }

  /** A pause process stands for its sandbox. */
  private sandboxOf(containerId: string): string {
    return this.containers.get(containerId)?.sandboxId ?? containerId;
  }

  /** What a shim has started is its child, in a pod the pause process and all containers: that is found faster than containerd starts again. */
  private async parent(sandboxId: string, containerId: string): Promise<ShimTasks | undefined> {
    const known = this.known.get(sandboxId);
    if (known !== undefined) return known;
    const pids = [this.sandboxes.get(sandboxId)?.pid ?? 0, this.containers.get(containerId)?.pid ?? 0];
    for (const pid of pids.filter((each) => each > 0)) {
      const parent = await this.parentOf(pid, sandboxId);
      if (parent !== undefined) return this.take(sandboxId, parent);
    }
    return undefined;
  }

  private async parentOf(pid: number, sandboxId: string): Promise<number | undefined> {
    const parent = readParent(this.roots.proc, pid);
    const command = parent === undefined ? undefined : await readCommand(this.roots.proc, parent);
    return command !== undefined && shimOf(command)?.id === sandboxId ? parent : undefined;
  }

  /** The one that says in its command that it is the sandbox's. */
  private async listed(sandboxId: string, maxAgeMs = LOOK_MS): Promise<ShimTasks | undefined> {
    const now = performance.now();
    if (this.looked === undefined || now - this.lookedAt > maxAgeMs) {
      this.lookedAt = now;
      this.looked = shimProcesses(this.roots.proc, this.config.containerd.namespace);
    }
    const pid = (await this.looked).get(sandboxId)?.[0];
    return pid === undefined ? undefined : this.take(sandboxId, pid);
  }

  private async take(sandboxId: string, pid: number): Promise<ShimTasks> {
    const shim = new ShimTasks(await shimAddress(pid, this.roots.proc), this.config.containerd.callTimeout);
    if (this.sandboxes.get(sandboxId) !== undefined) {
      // Another caller may have looked for it meanwhile.
      this.forget(sandboxId);
      this.known.set(sandboxId, shim);
    }
    return shim;
  }

  /** What others ask it at the moment is answered yet. */
  private forget(sandboxId: string): void {
    this.known.get(sandboxId)?.close();
    this.known.delete(sandboxId);
  }
}
