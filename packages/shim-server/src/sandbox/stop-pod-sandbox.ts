import type { StopPodSandboxRequest, StopPodSandboxResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerStopper } from '../container/container-stopper.js';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { SilentShims } from '../runtime/silent-shims.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
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
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ContainerStopper) private readonly stopper: ContainerStopper,
    @inject(SilentShims) private readonly silentShims: SilentShims,
    @inject(SandboxTeardown) private readonly teardown: SandboxTeardown,
  ) {}

  readonly handle: UnaryCall<StopPodSandboxRequest, StopPodSandboxResponse> = async (request, { signal, log }) => {
    if (request.podSandboxId === '') throw invalidArgument('pod_sandbox_id', 'is empty');
    const sandbox = this.sandboxes.find(request.podSandboxId);
    if (sandbox === undefined) return {};
    const steps = Steps.of('StopPodSandbox', this.failpoints, log);
    await steps.do('end a shim that hangs', () => this.silentShims.end(sandbox.id, signal));
    const running = this.containers.all().filter((container) => container.sandboxId === sandbox.id);
    await steps.do('stop the containers', () => Promise.all(running.map(({ id }) => this.stopper.kill(id, steps, signal))));
    try {
      await this.teardown.stop(sandbox.id, steps, signal);
    } catch (error) {
      this.teardown.owe(sandbox.id);
      throw error;
    }
    return {};
  };
}
