import { ContainerStats, type StreamContainerStatsRequest, type StreamContainerStatsResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { inBatches } from '../grpc/batches.js';
import type { StreamCall } from '../grpc/call-context.js';
import { ListContainerStats } from './list-container-stats.js';

/** CRI StreamContainerStats: ListContainerStats in several messages. */
@scoped(Lifecycle.ContainerScoped)
export class StreamContainerStats {
  constructor(@inject(ListContainerStats) private readonly stats: ListContainerStats) {}

  readonly handle: StreamCall<StreamContainerStatsRequest, StreamContainerStatsResponse> = (request) => this.stream(request);

  private async *stream({ filter }: StreamContainerStatsRequest): AsyncGenerator<StreamContainerStatsResponse> {
    for (const containerStats of inBatches(ContainerStats, await this.stats.list(filter))) yield { containerStats };
  }
}
