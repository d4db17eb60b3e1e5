import { waitOnShim, type Exit } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { notFound } from '../errors.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../tokens.js';
import { readProcess } from './process-table.js';
import { shimOf, shimProcesses } from './shim-processes.js';

/** How long one look at all of the machine's processes serves everybody: when containerd goes, all containers ask at once. */
const LOOK_MS = 1_000;

/** Waits for processes on their shims, for which containerd need not be there. */
@scoped(Lifecycle.ContainerScoped)
export class ShimWait {
  private shims: Promise<Map<string, number[]>> | undefined;
  private lookedAt = 0;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
  ) {}

  /** @throws ContainerdError, NOT_FOUND where the shim is not there */
  async of(containerId: string, execId: string, signal: AbortSignal): Promise<Exit> {
    const container = this.containers.get(containerId);
    // A pause process stands for its sandbox.
    const sandboxId = container?.sandboxId ?? containerId;
    const pids = [this.sandboxes.get(sandboxId)?.pid ?? 0, container?.pid ?? 0];
    const shim = (await this.parentOf(pids, sandboxId)) ?? (await this.look()).get(sandboxId)?.[0];
    if (shim === undefined) throw notFound('shim of pod', sandboxId);
    return waitOnShim({ shim, containerId, execId }, this.roots.proc, signal);
  }

  /** What a shim has started is its child, in a pod the pause process and all containers: that is found faster than containerd starts again. */
  private async parentOf(pids: readonly number[], sandboxId: string): Promise<number | undefined> {
    for (const pid of pids.filter((known) => known > 0)) {
      const parent = (await readProcess(this.roots.proc, pid))?.parent;
      const shim = parent === undefined ? undefined : await readProcess(this.roots.proc, parent);
      if (shim !== undefined && shimOf(shim)?.id === sandboxId) return parent;
    }
    return undefined;
  }

  private look(): Promise<Map<string, number[]>> {
    const now = performance.now();
    if (this.shims === undefined || now - this.lookedAt > LOOK_MS) {
      this.lookedAt = now;
      this.shims = shimProcesses(this.roots.proc, this.config.containerd.namespace);
    }
    return this.shims;
  }
}
