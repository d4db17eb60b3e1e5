import { PodSandbox, type StreamPodSandboxesRequest, type StreamPodSandboxesResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { inBatches } from '../grpc/batches.js';
import type { StreamCall } from '../grpc/call-context.js';
import { ListPodSandbox } from './list-pod-sandbox.js';

/** CRI StreamPodSandboxes: ListPodSandbox in several messages. */
@scoped(Lifecycle.ContainerScoped)
export class StreamPodSandboxes {
  constructor(@inject(ListPodSandbox) private readonly sandboxes: ListPodSandbox) {}

  readonly handle: StreamCall<StreamPodSandboxesRequest, StreamPodSandboxesResponse> = (request) => this.stream(request);

  private async *stream({ filter }: StreamPodSandboxesRequest): AsyncGenerator<StreamPodSandboxesResponse> {
    for (const podSandboxes of inBatches(PodSandbox, this.sandboxes.list(filter))) yield { podSandboxes };
  }
}
