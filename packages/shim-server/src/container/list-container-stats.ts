import type {
  ContainerStats,
  ContainerStatsFilter,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
} from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import type { ContainerRecord } from '../state/container-record.js';
import { matchesLabels } from '../state/label-selector.js';
import { ContainerUsage } from '../stats/container-usage.js';
import { Token, type Containers } from '../tokens.js';

/** CRI ListContainerStats: every container; one that does not run has no CPU and memory. */
@scoped(Lifecycle.ContainerScoped)
export class ListContainerStats {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerUsage) private readonly usage: ContainerUsage,
  ) {}

  readonly handle: UnaryCall<ListContainerStatsRequest, ListContainerStatsResponse> = async ({ filter }) => ({
    stats: await this.list(filter),
  });

  list(filter: ContainerStatsFilter | undefined): Promise<ContainerStats[]> {
    const chosen = this.containers.all().filter((container) => container.phase !== 'creating' && matches(container, filter));
    return Promise.all(chosen.map((container) => this.usage.of(container)));
  }
}

function matches(container: ContainerRecord, filter: ContainerStatsFilter | undefined): boolean {
  if (filter === undefined) return true;
  if (filter.id !== '' && !container.id.startsWith(filter.id)) return false;
  if (filter.podSandboxId !== '' && !container.sandboxId.startsWith(filter.podSandboxId)) return false;
  return matchesLabels(container.config.labels, filter.labelSelector);
}
