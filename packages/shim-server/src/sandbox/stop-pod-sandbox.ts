import type { StopPodSandboxRequest, StopPodSandboxResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerStopper } from '../container/container-stopper.js';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { SilentShims } from '../runtime/silent-shims.js';
import { inStep } from '../steps/step-error.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { SandboxTeardown } from './sandbox-teardown.js';

/**
 * CRI StopPodSandbox: kills what still runs, detaches the network and ends the pause process. Stopping a sandbox that is stopped
 * or unknown succeeds.
 */
@scoped(Lifecycle.ContainerScoped)
export class StopPodSandbox {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerStopper) private readonly stopper: ContainerStopper,
    @inject(SilentShims) private readonly silentShims: SilentShims,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
  ) {}

  readonly handle: UnaryCall<StopPodSandboxRequest, StopPodSandboxResponse> = async (request, { signal }) => {
    if (request.podSandboxId === '') throw invalidArgument('pod_sandbox_id', 'is empty');
    const sandbox = this.sandboxes.find(request.podSandboxId);
    if (sandbox === undefined) return {};
    await inStep('end a shim that hangs', () => this.silentShims.end(sandbox.id, signal));
    const running = this.containers.all().filter((container) => container.sandboxId === sandbox.id);
    await inStep('stop the containers', () => Promise.all(running.map(({ id }) => this.stopper.stop(id, 0, signal))));
    try {
      await this.teardown.stop(sandbox.id, signal);
    } catch (error) {
      this.teardown.owe(sandbox.id);
      throw error;
    }
    return {};
  };
}
