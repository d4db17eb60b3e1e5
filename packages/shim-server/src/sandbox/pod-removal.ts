import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerRemover } from '../container/container-remover.js';
import { OwedWork } from '../runtime/owed-work.js';
import { SilentShims } from '../runtime/silent-shims.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { StepOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
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
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(Token.Logger) private readonly log: Logger,
  ) {}

  async remove(sandboxId: string, signal?: AbortSignal): Promise<void> {
    const steps = Steps.of('RemovePodSandbox', this.failpoints, this.log.child({ podSandboxId: sandboxId }));
    await steps.do('end a shim that hangs', () => this.silentShims.end(sandboxId, signal));
    await this.removeContainers(sandboxId, steps, signal);
    await this.teardown.stop(sandboxId, steps, signal);
    // No container can be created any more; one may have been while the sandbox was still ready.
    await this.removeContainers(sandboxId, steps, signal);
    await this.teardown.discard(sandboxId, steps, signal);
  }

  /** Owes the removal of a pod whose creation could not be undone. */
  owe(sandboxId: string): void {
    this.owed.owe(sandboxId, 'remove the pod', (signal) => this.remove(sandboxId, signal));
  }

  private async removeContainers(sandboxId: string, steps: Steps<StepOf<'RemovePodSandbox'>>, signal?: AbortSignal): Promise<void> {
    const left = this.containers.all().filter((container) => container.sandboxId === sandboxId);
    await steps.do('remove the containers', () => Promise.all(left.map(({ id }) => this.remover.remove(id, steps, signal))));
  }
}
