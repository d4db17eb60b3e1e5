import type { NetnsProvider } from '@criquet/network-cni';
import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { OwedWork } from '../runtime/owed-work.js';
import { OwnCgroups } from '../runtime/own-cgroups.js';
import { Shims } from '../runtime/shims.js';
import { KeyedMutex, orAbort } from '../state/keyed-mutex.js';
import { stopped, type SandboxRecord } from '../state/sandbox-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { DiscardSandboxStep, StopSandboxStep } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token, type Sandboxes } from '../tokens.js';
import { PauseStart } from './pause-start.js';
import { PauseTask } from './pause-task.js';
import { PodNetwork } from './pod-network.js';
import { SandboxFiles } from './sandbox-files.js';
import { SandboxRootfs } from './sandbox-rootfs.js';

/** Ends what a sandbox runs and holds. Every part succeeds when it has been done already, so it can be repeated. */
@scoped(Lifecycle.ContainerScoped)
export class SandboxTeardown {
  private readonly mutex = new KeyedMutex();
  private readonly stopping = new Set<string>();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Netns) private readonly netns: NetnsProvider,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(PauseTask) private readonly pauseTask: PauseTask,
    @inject(PauseStart) private readonly pauseStart: PauseStart,
    @inject(PodNetwork) private readonly network: PodNetwork,
    @inject(SandboxFiles) private readonly files: SandboxFiles,
    @inject(SandboxRootfs) private readonly rootfs: SandboxRootfs,
    @inject(OwnCgroups) private readonly cgroups: OwnCgroups,
    @inject(OwedWork) private readonly owed: OwedWork,
    @inject(Shims) private readonly shims: Shims,
  ) {}

  /**
   * Network and pause process side by side (the pinned netns keeps either from depending on the other), then what they used.
   * The sandbox is then `stopped`; its record and files remain.
   */
  stop(sandboxId: string, steps: Steps<StopSandboxStep>, signal?: AbortSignal): Promise<void> {
    return this.mutex.run(sandboxId, signal, async () => {
      const sandbox = this.sandboxes.get(sandboxId);
      if (sandbox === undefined || sandbox.ended === true) return;
      this.stopping.add(sandboxId);
      try {
        await this.end(sandbox, steps, signal);
      } finally {
        this.stopping.delete(sandboxId);
      }
    });
  }

  /** Whether {@link stop} is at it: what becomes of the sandbox is written once, at its end. */
  isStopping(sandboxId: string): boolean {
    return this.stopping.has(sandboxId);
  }

  private async end(sandbox: SandboxRecord, steps: Steps<StopSandboxStep>, signal: AbortSignal | undefined): Promise<void> {
    const { id } = sandbox;
    const [paused, detached] = await Promise.allSettled([
      steps.do('remove the pause process', () => this.removePause(id, signal)),
      this.detach(sandbox, steps, signal),
    ]);
    try {
      if (paused.status === 'rejected') throw paused.reason;
      this.sandboxes.note(id, stopped);
      if (detached.status === 'rejected') throw detached.reason;
      await steps.do('release the namespaces', () => this.releaseNamespaces(sandbox));
      await steps.do('unmount shared memory', () => this.files.unmount(id));
    } catch (error) {
      // It is not ready any more, whatever else is still owed; after a restart too.
      if (paused.status === 'fulfilled' && this.sandboxes.get(id) !== undefined) this.sandboxes.amend(id, stopped);
      throw error;
    }
    await steps.do('record that it has stopped', async () => {
      // Without a record in containerd (its deletion got no answer, or somebody else did it) there is nothing to write it to.
      await this.sandboxes.update(id, (record) => ({ ...stopped(record), networkAttached: false, ended: true })).catch(ignoreNotFound);
    });
  }

  /** What a stopped sandbox still has: files, snapshot, record. Never while somebody else stops it. */
  discard(sandboxId: string, steps: Steps<DiscardSandboxStep>, signal?: AbortSignal): Promise<void> {
    return this.mutex.run(sandboxId, signal, async () => {
      const sandbox = this.sandboxes.get(sandboxId);
      const own = sandbox === undefined ? [] : [
        steps.do('remove the cgroup of the pause process', () => this.cgroups.remove(sandbox)),
        steps.do('remove the snapshot of the pause process', () => this.rootfs.remove(sandbox)),
      ];
      await together(
        ...own,
        steps.do('remove the pod files', () => this.files.remove(sandboxId)),
        steps.do('remove the sandbox from its store', async () => {
          await this.shims.shutDown(sandboxId);
          await this.containerd.sandboxes.delete(sandboxId).catch(ignoreNotFound);
        }),
      );
      await steps.do('remove the sandbox record', () => this.sandboxes.remove(sandboxId));
    });
  }

  /** {@link stop}, then {@link discard}. */
  async remove(sandboxId: string, steps: Steps<StopSandboxStep | DiscardSandboxStep>, signal?: AbortSignal): Promise<void> {
    await this.stop(sandboxId, steps, signal);
    await this.discard(sandboxId, steps, signal);
  }

  /** Owes what is left of a teardown that failed: {@link remove} for a creation that failed, {@link stop} for the rest. */
  owe(sandboxId: string): void {
    this.owed.owe(sandboxId, 'tear down the sandbox', async (signal) => {
      const failed = this.sandboxes.get(sandboxId)?.phase === 'failed';
      const steps = Steps.of('OwedTeardown', this.failpoints, this.log.child({ podSandboxId: sandboxId }));
      await (failed ? this.remove(sandboxId, steps, signal) : this.stop(sandboxId, steps, signal));
    });
  }

  /** What an OCI runtime is still starting is left to it, unless the caller does not wait. */
  private async removePause(id: string, signal?: AbortSignal): Promise<void> {
    await orAbort(this.pauseStart.settled(id), signal);
    await this.pauseTask.remove(id, signal);
  }

  private async detach(sandbox: SandboxRecord, steps: Steps<StopSandboxStep>, signal?: AbortSignal): Promise<void> {
    if (!sandbox.networkAttached) return;
    await steps.do('detach from the pod network', () => this.network.detach(sandbox, signal));
  }

  private async releaseNamespaces({ netnsPath, usernsPath }: SandboxRecord): Promise<void> {
    if (netnsPath !== '') await this.netns.release(netnsPath);
    if (usernsPath !== undefined) await this.netns.release(usernsPath);
  }
}
