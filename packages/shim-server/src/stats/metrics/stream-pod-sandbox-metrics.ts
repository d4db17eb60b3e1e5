import { PodSandboxMetrics, type StreamPodSandboxMetricsRequest, type StreamPodSandboxMetricsResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { inBatches } from '../../grpc/batches.js';
import type { StreamCall } from '../../grpc/call-context.js';
import { PodMetrics } from './pod-metrics.js';

/** CRI StreamPodSandboxMetrics: ListPodSandboxMetrics in several messages. */
@scoped(Lifecycle.ContainerScoped)
export class StreamPodSandboxMetrics {
  constructor(@inject(PodMetrics) private readonly metrics: PodMetrics) {}

  readonly handle: StreamCall<StreamPodSandboxMetricsRequest, StreamPodSandboxMetricsResponse> = () => this.stream();

  private async *stream(): AsyncGenerator<StreamPodSandboxMetricsResponse> {
    for (const podSandboxMetrics of inBatches(PodSandboxMetrics, await this.metrics.list())) yield { podSandboxMetrics };
  }
}
