import type { NetnsProvider } from '@criquet/network-cni';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { ownCgroups, removeEmptyCgroups } from '../runtime/own-cgroups.js';
import { OwedWork } from '../runtime/owed-work.js';
import type { NodeFacts } from '../spec/index.js';
import { KeyedMutex } from '../state/keyed-mutex.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { inStep } from '../steps/step-error.js';
import { Token, type NodeRoots, type Sandboxes } from '../tokens.js';
import { PauseTask } from './pause-task.js';
import { PodNetwork } from './pod-network.js';
import { SandboxFiles } from './sandbox-files.js';
import { SandboxRootfs } from './sandbox-rootfs.js';

/** Ends what a sandbox runs and holds. Every part succeeds when it has been done already, so it can be repeated. */
@scoped(Lifecycle.ContainerScoped)
export class SandboxTeardown {
  private readonly mutex = new KeyedMutex();

  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Netns) private readonly netns: NetnsProvider,
    @inject(PauseTask) private readonly pauseTask: PauseTask,
    @inject(PodNetwork) private readonly network: PodNetwork,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(SandboxRootfs) private readonly rootfs: SandboxRootfs,
    @inject(OwedWork) private readonly owed: OwedWork,
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
  ) {}

  /**
   * Network and pause process side by side (the pinned netns keeps either from depending on the other), then what they used.
   * The sandbox is then `stopped`; its record and files remain.
   */
  stop(sandboxId: string, signal?: AbortSignal): Promise<void> {
    return this.mutex.run(sandboxId, signal, async () => {
      const sandbox = this.sandboxes.get(sandboxId);
      if (sandbox === undefined) return;
      const done = await Promise.allSettled([
        inStep('remove the pause process', () => this.pauseTask.remove(sandboxId, signal)),
        this.detach(sandbox, signal),
      ]);
      const failed = done.find((result) => result.status === 'rejected');
      if (done[0].status === 'fulfilled') {
        // It is not ready any more, whatever else is still owed.
        this.sandboxes.amend(sandboxId, stopped);
      }
      if (failed !== undefined) throw failed.reason as Error;
      await inStep('release the namespaces', () => this.releaseNamespaces(sandbox));
      await inStep('unmount shared memory', () => this.files.unmount(sandboxId));
      // Without a record in containerd (its deletion got no answer, or somebody else did it) there is nothing to write it to.
      await this.sandboxes.update(sandboxId, (record) => ({ ...stopped(record), networkAttached: false })).catch(ignoreNotFound);
    });
  }

  /** What a stopped sandbox still has: files, snapshot, record. Never while somebody else stops it. */
  discard(sandboxId: string, signal?: AbortSignal): Promise<void> {
    return this.mutex.run(sandboxId, signal, async () => {
      const sandbox = this.sandboxes.get(sandboxId);
      await inStep('remove the pod files', async () => {
        await this.files.remove(sandboxId);
        // Without the record nobody could tell whose it is.
        if (sandbox !== undefined) await removeEmptyCgroups(await ownCgroups(sandbox, this.node, `${this.roots.sys}/fs/cgroup`));
      });
      if (sandbox !== undefined) await inStep('remove the snapshot', () => this.rootfs.remove(sandbox));
      await inStep('remove the sandbox record', () => this.sandboxes.remove(sandboxId));
    });
  }

  /** {@link stop}, then {@link discard}. */
  async remove(sandboxId: string, signal?: AbortSignal): Promise<void> {
    await this.stop(sandboxId, signal);
    await this.discard(sandboxId, signal);
  }

  /** Owes what is left of a teardown that failed: {@link remove} for a creation that failed, {@link stop} for the rest. */
  owe(sandboxId: string): void {
    this.owed.owe(sandboxId, 'tear down the sandbox', async (signal) => {
      const failed = this.sandboxes.get(sandboxId)?.phase === 'failed';
      await (failed ? this.remove(sandboxId, signal) : this.stop(sandboxId, signal));
    });
  }

  private async detach(sandbox: SandboxRecord, signal?: AbortSignal): Promise<void> {
    if (!sandbox.networkAttached) return;
    await inStep('detach from the pod network', () => this.network.detach(sandbox, signal));
  }

  private async releaseNamespaces({ netnsPath, usernsPath }: SandboxRecord): Promise<void> {
    if (netnsPath !== '') await this.netns.release(netnsPath);
    if (usernsPath !== undefined) await this.netns.release(usernsPath);
  }
}

function stopped(record: SandboxRecord): SandboxRecord {
  return { ...record, phase: record.phase === 'failed' ? 'failed' : 'stopped', pid: 0 };
}
