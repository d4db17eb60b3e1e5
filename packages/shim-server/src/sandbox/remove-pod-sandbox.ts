import type { RemovePodSandboxRequest, RemovePodSandboxResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerRemover } from '../container/container-remover.js';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { inStep } from '../steps/step-error.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { SandboxTeardown } from './sandbox-teardown.js';

/** CRI RemovePodSandbox: containers that are left are forcibly ended and removed; removing what is gone succeeds. */
@scoped(Lifecycle.ContainerScoped)
export class RemovePodSandbox {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerRemover) private readonly remover: ContainerRemover,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
  ) {}

  readonly handle: UnaryCall<RemovePodSandboxRequest, RemovePodSandboxResponse> = async (request, { signal }) => {
    if (request.podSandboxId === '') throw invalidArgument('pod_sandbox_id', 'is empty');
    const sandbox = this.sandboxes.find(request.podSandboxId);
    if (sandbox === undefined) return {};
    await this.removeContainers(sandbox.id, signal);
    await this.teardown.stop(sandbox.id, signal);
    // No container can be created any more; one may have been while the sandbox was still ready.
    await this.removeContainers(sandbox.id, signal);
    await this.teardown.discard(sandbox.id, signal);
    return {};
  };

  private async removeContainers(sandboxId: string, signal: AbortSignal): Promise<void> {
    const left = this.containers.all().filter((container) => container.sandboxId === sandboxId);
    await inStep('remove the containers', () => Promise.all(left.map(({ id }) => this.remover.remove(id, signal))));
  }
}
