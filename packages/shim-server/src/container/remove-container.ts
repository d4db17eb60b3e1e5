import type { RemoveContainerRequest, RemoveContainerResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerRemover } from './container-remover.js';

/** CRI RemoveContainer: a running container is ended first; removing what is gone succeeds. */
@scoped(Lifecycle.ContainerScoped)
export class RemoveContainer {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ContainerRemover) private readonly remover: ContainerRemover,
  ) {}

  readonly handle: UnaryCall<RemoveContainerRequest, RemoveContainerResponse> = async (request, { signal, log }) => {
    if (request.containerId === '') throw invalidArgument('container_id', 'is empty');
    const container = this.containers.find(request.containerId);
    if (container !== undefined) await this.remover.remove(container.id, Steps.of('RemoveContainer', this.failpoints, log), signal);
    return {};
  };
}
