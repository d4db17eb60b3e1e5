import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { CaptureWork } from '../checkpoint/capture-work.js';
import { Restoration } from '../checkpoint/restoration.js';
import { discardTask, removeSnapshot } from '../runtime/already-gone.js';
import { ownCgroups, removeEmptyCgroups } from '../runtime/own-cgroups.js';
import { OwedWork } from '../runtime/owed-work.js';
import type { NodeFacts } from '../spec/index.js';
import { orAbort } from '../state/keyed-mutex.js';
import { inStep } from '../steps/step-error.js';
import { Token, type Containers, type NodeRoots } from '../tokens.js';
import { ContainerIo } from './container-io.js';
import { ContainerLocks } from './container-locks.js';
import { ContainerStopper } from './container-stopper.js';
import { DeclaredVolumes } from './declared-volumes.js';
import { ImageVolumes } from './image-volumes.js';
import { ContainerWatch } from './container-watch.js';

/** Removes containers, ending what runs first. Every part succeeds when it is done already; the record goes last. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerRemover {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
    @inject(ContainerStopper) private readonly stopper: ContainerStopper,
    @inject(ContainerWatch) private readonly watch: ContainerWatch,
    @inject(ImageVolumes) private readonly imageVolumes: ImageVolumes,
    @inject(DeclaredVolumes) private readonly declaredVolumes: DeclaredVolumes,
    @inject(CaptureWork) private readonly captures: CaptureWork,
    @inject(Restoration) private readonly restoration: Restoration,
    @inject(OwedWork) private readonly owed: OwedWork,
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
  ) {}

  /** One that is unknown is gone. The log stays: it is the kubelet's. */
  async remove(containerId: string, signal?: AbortSignal): Promise<void> {
    do await this.stopper.stop(containerId, 0, signal);
    while (!(await this.locks.run(containerId, signal, () => this.removeStopped(containerId, signal))));
  }

  /** Owes the removal of a container whose creation could not be undone. */
  owe(containerId: string): void {
    this.owed.owe(containerId, 'remove the container', (signal) => this.remove(containerId, signal));
  }

  /** @returns false when it runs: a start that had been queued earlier came between the stop and this */
  private async removeStopped(containerId: string, signal?: AbortSignal): Promise<boolean> {
    const container = this.containers.get(containerId);
    if (container === undefined) return true;
    if (container.phase === 'running') return false;
    await orAbort(this.watch.released(containerId), signal);
    await inStep('end the restore', () => this.restoration.end(container));
    // Left by a killed daemon, by a start whose undo failed, or by one whose record cannot be read.
    await inStep('delete the task', async () => {
      await discardTask(this.containerd.tasks, containerId);
      // Without its record nobody could tell whose it is.
      await removeEmptyCgroups(await ownCgroups(container, this.node, `${this.roots.sys}/fs/cgroup`));
    });
    await inStep('remove the FIFOs', () => this.io.close(containerId));
    await inStep('remove the snapshot', () => removeSnapshot(this.containerd.snapshots, container.snapshotter, containerId));
    await inStep('remove the image volumes', () => this.imageVolumes.remove(containerId, container.imageVolumes ?? []));
    await inStep('remove the volumes of the image', () => this.declaredVolumes.remove(containerId));
    await inStep('remove the checkpoint', () => this.captures.discard(containerId));
    await inStep('remove the container record', () => this.containers.remove(containerId));
    return true;
  }
}
