import type {
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStats,
  PodSandboxStatsFilter,
} from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { matchesLabels } from '../state/label-selector.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { PodUsage } from '../stats/pod-usage.js';
import { Token, type Sandboxes } from '../tokens.js';

/** CRI ListPodSandboxStats: every pod that is ready. */
@scoped(Lifecycle.ContainerScoped)
export class ListPodSandboxStats {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(PodUsage) private readonly usage: PodUsage,
  ) {}

  readonly handle: UnaryCall<ListPodSandboxStatsRequest, ListPodSandboxStatsResponse> = async ({ filter }) => ({
    stats: await this.list(filter),
  });

  list(filter: PodSandboxStatsFilter | undefined): Promise<PodSandboxStats[]> {
    const chosen = this.sandboxes.all().filter((sandbox) => sandbox.phase === 'ready' && matches(sandbox, filter));
    return Promise.all(chosen.map((sandbox) => this.usage.of(sandbox)));
  }
}

function matches(sandbox: SandboxRecord, filter: PodSandboxStatsFilter | undefined): boolean {
  if (filter === undefined) return true;
  return sandbox.id.startsWith(filter.id) && matchesLabels(sandbox.config.labels, filter.labelSelector);
}
