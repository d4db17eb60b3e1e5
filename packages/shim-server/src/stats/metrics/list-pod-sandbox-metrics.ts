import type { ListPodSandboxMetricsRequest, ListPodSandboxMetricsResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../../grpc/call-context.js';
import { PodMetrics } from './pod-metrics.js';

/** CRI ListPodSandboxMetrics. */
@scoped(Lifecycle.ContainerScoped)
export class ListPodSandboxMetrics {
  constructor(@inject(PodMetrics) private readonly metrics: PodMetrics) {}

  readonly handle: UnaryCall<ListPodSandboxMetricsRequest, ListPodSandboxMetricsResponse> = async () => ({
    podMetrics: await this.metrics.list(),
  });
}
