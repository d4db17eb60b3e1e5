import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { CaptureWork } from '../checkpoint/capture-work.js';
import { Restoration } from '../checkpoint/restoration.js';
import { removeSnapshot } from '../runtime/already-gone.js';
import { OwedWork } from '../runtime/owed-work.js';
import { OwnCgroups } from '../runtime/own-cgroups.js';
import { discardTask } from '../runtime/reach-task.js';
import { orAbort } from '../state/keyed-mutex.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { DiscardContainerStep, EndStep } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerIo } from './container-io.js';
import { ContainerLocks } from './container-locks.js';
import { ContainerStopper } from './container-stopper.js';
import { DeclaredVolumes } from './declared-volumes.js';
import { ImageVolumes } from './image-volumes.js';
import { ContainerWatch } from './container-watch.js';
import { settledWithin } from './settled-within.js';

/** How long a removal waits for what follows a container's end by itself, which is tried again for as long as it fails. */
const RELEASE_MS = 10_000;

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
    @inject(OwnCgroups) private readonly cgroups: OwnCgroups,
    @inject(OwedWork) private readonly owed: OwedWork,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(Token.Logger) private readonly log: Logger,
  ) {}

  /** One that is unknown is gone. The log stays: it is the kubelet's. */
  async remove(containerId: string, steps: Steps<EndStep | DiscardContainerStep>, signal?: AbortSignal): Promise<void> {
    do await this.stopper.kill(containerId, steps, signal);
    while (!(await this.removeStopped(containerId, steps, signal)));
  }

  /** {@link remove} for a container that was never whole, so that nobody can have started it. */
  async discard(containerId: string, steps: Steps<DiscardContainerStep>, signal?: AbortSignal): Promise<void> {
    await this.removeStopped(containerId, steps, signal);
  }

  /** Owes the removal of a container whose creation could not be undone. */
  owe(containerId: string): void {
    this.owed.owe(containerId, 'remove the container', (signal) => {
      const steps = Steps.of('OwedContainerRemoval', this.failpoints, this.log.child({ containerId }));
      return this.discard(containerId, steps, signal);
    });
  }

  /** @returns false when it runs: a start that had been queued earlier came between the stop and this */
  private removeStopped(containerId: string, steps: Steps<DiscardContainerStep>, signal?: AbortSignal): Promise<boolean> {
    return this.locks.run(containerId, signal, () => this.removeLocked(containerId, steps, signal));
  }

  private async removeLocked(containerId: string, steps: Steps<DiscardContainerStep>, signal?: AbortSignal): Promise<boolean> {
    const container = this.containers.get(containerId);
    if (container === undefined) return true;
    if (container.phase === 'running') return false;
    // What hinders that then hinders this too, and is told.
    await orAbort(settledWithin([this.watch.released(containerId)], RELEASE_MS), signal);
    await steps.do('end the restore', () => this.restoration.end(container));
    // Left by a killed daemon, by a start whose undo failed, or by one whose record cannot be read.
    const left = (remove: () => Promise<void>) => (this.watch.isReleased(containerId) ? Promise.resolve() : remove());
    await steps.do('delete the task', () => left(() => discardTask(this.containerd, containerId)));
    await steps.do('remove the cgroup', () => left(() => this.cgroups.remove(container)));
    await steps.do('remove the FIFOs', () => left(() => this.io.close(containerId)));
    await together(
      steps.do('remove the snapshot', () => removeSnapshot(this.containerd.snapshots, container.snapshotter, containerId)),
      steps.do('remove the image volumes', () => this.imageVolumes.remove(containerId, container.imageVolumes ?? [])),
      steps.do('remove the volumes of the image', () => this.declaredVolumes.remove(containerId)),
      steps.do('remove the checkpoint', () => this.captures.discard(containerId)),
    );
    await steps.do('remove the container record', () => this.containers.remove(containerId));
    return true;
  }
}
