import { Container, type StreamContainersRequest, type StreamContainersResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { inBatches } from '../grpc/batches.js';
import type { StreamCall } from '../grpc/call-context.js';
import { ListContainers } from './list-containers.js';

/** CRI StreamContainers: ListContainers in several messages. */
@scoped(Lifecycle.ContainerScoped)
export class StreamContainers {
  constructor(@inject(ListContainers) private readonly containers: ListContainers) {}

  readonly handle: StreamCall<StreamContainersRequest, StreamContainersResponse> = (request) => this.stream(request);

  private async *stream({ filter }: StreamContainersRequest): AsyncGenerator<StreamContainersResponse> {
    for (const containers of inBatches(Container, this.containers.list(filter))) yield { containers };
  }
}
