import type { ContainerStatsRequest, ContainerStatsResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { ContainerUsage } from '../stats/container-usage.js';
import { Token, type Containers } from '../tokens.js';

/** CRI ContainerStats. */
@scoped(Lifecycle.ContainerScoped)
export class GetContainerStats {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerUsage) private readonly usage: ContainerUsage,
  ) {}

  readonly handle: UnaryCall<ContainerStatsRequest, ContainerStatsResponse> = async ({ containerId }) => ({
    stats: await this.usage.of(this.containers.require(containerId)),
  });
}
