import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerRemover } from '../container/container-remover.js';
import { OwedWork } from '../runtime/owed-work.js';
import { SilentShims } from '../runtime/silent-shims.js';
import { inStep } from '../steps/step-error.js';
import { Token, type Containers } from '../tokens.js';
import { SandboxTeardown } from './sandbox-teardown.js';

/** Removes a sandbox with all its containers, ending what runs. Every part succeeds when it has been done already. */
@scoped(Lifecycle.ContainerScoped)
export class PodRemoval {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerRemover) private readonly remover: ContainerRemover,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
    @inject(SilentShims) private readonly silentShims: SilentShims,
    @inject(OwedWork) private readonly owed: OwedWork,
  ) {}

  async remove(sandboxId: string, signal?: AbortSignal): Promise<void> {
    await inStep('end a shim that hangs', () => this.silentShims.end(sandboxId, signal));
    await this.removeContainers(sandboxId, signal);
    await this.teardown.stop(sandboxId, signal);
    // No container can be created any more; one may have been while the sandbox was still ready.
    await this.removeContainers(sandboxId, signal);
    await this.teardown.discard(sandboxId, signal);
  }

  /** Owes the removal of a pod whose creation could not be undone. */
  owe(sandboxId: string): void {
    this.owed.owe(sandboxId, 'remove the pod', (signal) => this.remove(sandboxId, signal));
  }

  private async removeContainers(sandboxId: string, signal?: AbortSignal): Promise<void> {
    const left = this.containers.all().filter((container) => container.sandboxId === sandboxId);
    await inStep('remove the containers', () => Promise.all(left.map(({ id }) => this.remover.remove(id, signal))));
  }
}
