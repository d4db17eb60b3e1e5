import { setTimeout as pause } from 'node:timers/promises';
import type { StopPodSandboxRequest, StopPodSandboxResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerStopper } from '../container/container-stopper.js';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { SilentShims } from '../runtime/silent-shims.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { StepOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { SandboxTeardown } from './sandbox-teardown.js';

/** A stop that takes less needs no look for a shim that hangs, which takes calls to it. */
const LOOK_AFTER_MS = 1_000;

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
    const over = new AbortController();
    const ending = AbortSignal.any([signal, over.signal]);
    const look = async (): Promise<void> => {
      try {
        await pause(LOOK_AFTER_MS, undefined, { signal: ending });
        await this.silentShims.end(sandbox.id, ending);
      } catch (error) {
        if (!over.signal.aborted) throw error;
      }
    };
    const [stopped, looked] = await Promise.allSettled([
      this.stop(sandbox.id, steps, signal).finally(() => over.abort('over')),
      steps.do('end a shim that hangs', look),
    ]);
    if (stopped.status === 'rejected') throw stopped.reason;
    if (looked.status === 'rejected') throw looked.reason;
    return {};
  };

  private async stop(sandboxId: string, steps: Steps<StepOf<'StopPodSandbox'>>, signal: AbortSignal): Promise<void> {
    const running = this.containers.all().filter((container) => container.sandboxId === sandboxId);
    await steps.do('stop the containers', () => Promise.all(running.map(({ id }) => this.stopper.kill(id, steps, signal))));
    try {
      await this.teardown.stop(sandboxId, steps, signal);
    } catch (error) {
      this.teardown.owe(sandboxId);
      throw error;
    }
  }
}
