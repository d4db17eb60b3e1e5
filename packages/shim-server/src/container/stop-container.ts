import type { StopContainerRequest, StopContainerResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerStopper } from './container-stopper.js';

/** CRI StopContainer: the stop signal, SIGKILL after the timeout. One that is unknown or has exited is stopped. */
@scoped(Lifecycle.ContainerScoped)
export class StopContainer {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ContainerStopper) private readonly stopper: ContainerStopper,
  ) {}

  readonly handle: UnaryCall<StopContainerRequest, StopContainerResponse> = async (request, { signal, log }) => {
    if (request.containerId === '') throw invalidArgument('container_id', 'is empty');
    if (request.timeout < 0n) throw invalidArgument('timeout', `${request.timeout} is negative`);
    const container = this.containers.find(request.containerId);
    if (container === undefined) return {};
    const steps = Steps.of('StopContainer', this.failpoints, log);
    await this.stopper.stop(container.id, Number(request.timeout) * 1000, steps, signal);
    return {};
  };
}
