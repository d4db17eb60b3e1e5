import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { isTaskGone, leaseExpireLabel, type CallOptions, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { ContainerLocks } from '../container/container-locks.js';
import { ignoreNotFound, removeSnapshot } from '../runtime/already-gone.js';
import { OwedWork } from '../runtime/owed-work.js';
import type { Layout } from '../state/layout.js';
import { ownedBy } from '../state/owner-labels.js';
import type { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { captureDirectory, removePart, removeTree } from './checkpoint-directory.js';

/** A lease ends by itself when nobody could delete it. */
const LEASE_HOURS = 24;
/** A shim that still dumps answers when CRIU is done or killed. */
const END_MS = 60_000;
/** How long the end of a capture is tried before it is owed: a shim that was just left may refuse for a moment. */
const TRY_MS = 5_000;
const TRY_AGAIN_MS = 100;

/**
 * What a capture holds on the node, all of it found by the container's id: the task paused, a directory, a lease with a view of the
 * image and a layer. That it may be there stands in the record first, so that a daemon killed meanwhile ends it at its next start.
 */
@scoped(Lifecycle.ContainerScoped)
export class CaptureWork {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
    @inject(OwedWork) private readonly owed: OwedWork,
  ) {}

  /** @param files outside criquet's directories that are not whole until the checkpoint is done */
  async begin(containerId: string, files: readonly string[]): Promise<void> {
    await this.containers.update(containerId, (record) => ({ ...record, checkpointing: { files } }));
  }

  /**
   * Lets the container go on, wherever the capture stands; one that is gone or runs is fine. It is asked for whatever the state seems to be: the
   * shim answers when a pause or dump that is still under way is over.
   */
  async resume(containerId: string, options: CallOptions = { timeoutMs: END_MS }): Promise<void> {
    const { tasks } = this.containerd;
    try {
      await tasks.resume(containerId, options);
    } catch (error) {
      if (isTaskGone(error)) return;
      const { status } = await tasks.get(containerId, undefined, options);
      if (status === 'paused' || status === 'pausing') throw error;
    }
  }

  /** Ends a capture. `unfinished` files are removed as well. What cannot be done now is owed, and stands in the record. */
  async end(containerId: string, unfinished: readonly string[]): Promise<void> {
    for (const late = performance.now() + TRY_MS; ; await pause(TRY_AGAIN_MS)) {
      try {
        return await this.endNow(containerId, unfinished);
      } catch {
        if (performance.now() < late) continue;
        this.owe(containerId);
        return;
      }
    }
  }

  /** Before a capture: what an earlier one still owes, under the container's lock. */
  async settle(containerId: string): Promise<void> {
    const intent = this.containers.get(containerId)?.checkpointing;
    if (intent !== undefined) await this.endNow(containerId, intent.files);
  }

  /** At start: ends what a killed daemon has left; nothing of its files is whole. It begins at once, and the start does not wait for it. */
  recover(containerId: string, steps: Steps<'end the checkpoint'>): void {
    const intent = this.containers.get(containerId)?.checkpointing;
    if (intent === undefined) return;
    void this.locks.run(containerId, undefined, () => steps.do('end the checkpoint', () => this.end(containerId, intent.files)));
  }

  /** What is in the way of a container's removal. */
  async discard(containerId: string): Promise<void> {
    const { checkpointing, restored = false } = this.containers.get(containerId) ?? {};
    await removeFiles(checkpointing?.files ?? []);
    if (checkpointing !== undefined || restored) await this.dropLease(containerId);
    await removeTree(this.layout.checkpoint(containerId));
  }

  /** Holds what is made in containerd on the way, until {@link dropLease}. */
  async lease(containerId: string): Promise<string> {
    const id = leaseName(containerId);
    const expires = new Date(Date.now() + LEASE_HOURS * 3_600_000).toISOString();
    await this.containerd.leases.create({ id, labels: { [leaseExpireLabel]: expires, ...ownedBy(containerId) } });
    return id;
  }

  /** Key of the view of the container's image. */
  viewKey(containerId: string): string {
    return `criquet-checkpoint-${containerId}`;
  }

  private async endNow(containerId: string, unfinished: readonly string[]): Promise<void> {
    await this.resume(containerId);
    await removeFiles(unfinished);
    await this.dropLease(containerId);
    // The directory may hold a restore that is still to come.
    await removePart(captureDirectory(this.layout, containerId));
    if (this.containers.get(containerId) === undefined) return;
    await this.containers.update(containerId, ({ checkpointing: _, ...record }) => record).catch(ignoreNotFound);
  }

  private owe(containerId: string): void {
    this.owed.owe(containerId, 'end the checkpoint', (signal) =>
      this.locks.run(containerId, signal, () => this.settle(containerId)),
    );
  }

  /** Takes away the lease and what it holds. */
  async dropLease(containerId: string): Promise<void> {
    const snapshotter = this.containers.get(containerId)?.snapshotter;
    if (snapshotter !== undefined) await removeSnapshot(this.containerd.snapshots, snapshotter, this.viewKey(containerId));
    await this.containerd.leases.delete(leaseName(containerId)).catch(ignoreNotFound);
  }
}

async function removeFiles(files: readonly string[]): Promise<void> {
  for (const file of files) {
    await rm(file, { force: true }).catch((error: NodeJS.ErrnoException) => {
      // Nothing can be there.
      if (error.code !== 'ENAMETOOLONG') throw error;
    });
  }
}

function leaseName(containerId: string): string {
  return `criquet-checkpoint-${containerId}`;
}
