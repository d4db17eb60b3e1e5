import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { discardTask, removeSnapshot } from '../runtime/already-gone.js';
import { OwedWork } from '../runtime/owed-work.js';
import { orAbort } from '../state/keyed-mutex.js';
import { inStep } from '../steps/step-error.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerIo } from './container-io.js';
import { ContainerLocks } from './container-locks.js';
import { ContainerStopper } from './container-stopper.js';
import { ContainerWatch } from './container-watch.js';

/** Removes containers, ending what runs first. Every part succeeds when it is done already; the record goes last. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerRemover {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
    @inject(ContainerStopper) private readonly stopper: ContainerStopper,
    @inject(ContainerWatch) private readonly watch: ContainerWatch,
    @inject(OwedWork) private readonly owed: OwedWork,
  ) {}

  /** One that is unknown is gone. The log stays: it is the kubelet's. */
  async remove(containerId: string, signal?: AbortSignal): Promise<void> {
    await this.stopper.stop(containerId, 0, signal);
    await this.locks.run(containerId, signal, async () => {
      const container = this.containers.get(containerId);
      if (container === undefined) return;
      await orAbort(this.watch.released(containerId), signal);
      await inStep('delete the task', () => this.deleteTask(containerId));
      await inStep('remove the FIFOs', () => this.io.close(containerId));
      await inStep('remove the snapshot', () => removeSnapshot(this.containerd.snapshots, this.config.containerd.snapshotter, containerId));
      await inStep('remove the container record', () => this.containers.remove(containerId));
    });
  }

  /** Owes the removal of a container whose creation could not be undone. */
  owe(containerId: string): void {
    this.owed.owe(containerId, 'remove the container', (signal) => this.remove(containerId, signal));
  }

  /** Only a task that a killed daemon left half started is still there. */
  private async deleteTask(containerId: string): Promise<void> {
    const container = this.containers.get(containerId);
    if (container === undefined || container.phase === 'exited') return;
    await discardTask(this.containerd.tasks, containerId);
  }
}
