import { PodSandboxStats, type StreamPodSandboxStatsRequest, type StreamPodSandboxStatsResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { inBatches } from '../grpc/batches.js';
import type { StreamCall } from '../grpc/call-context.js';
import { ListPodSandboxStats } from './list-pod-sandbox-stats.js';

/** CRI StreamPodSandboxStats: ListPodSandboxStats in several messages. */
@scoped(Lifecycle.ContainerScoped)
export class StreamPodSandboxStats {
  constructor(@inject(ListPodSandboxStats) private readonly stats: ListPodSandboxStats) {}

  readonly handle: StreamCall<StreamPodSandboxStatsRequest, StreamPodSandboxStatsResponse> = (request) => this.stream(request);

  private async *stream({ filter }: StreamPodSandboxStatsRequest): AsyncGenerator<StreamPodSandboxStatsResponse> {
    for (const podSandboxStats of inBatches(PodSandboxStats, await this.stats.list(filter))) yield { podSandboxStats };
  }
}
