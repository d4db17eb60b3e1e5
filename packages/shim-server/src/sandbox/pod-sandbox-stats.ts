import type { PodSandboxStatsRequest, PodSandboxStatsResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { PodUsage } from '../stats/pod-usage.js';
import { Token, type Sandboxes } from '../tokens.js';

/** CRI PodSandboxStats. */
@scoped(Lifecycle.ContainerScoped)
export class GetPodSandboxStats {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(PodUsage) private readonly usage: PodUsage,
  ) {}

  readonly handle: UnaryCall<PodSandboxStatsRequest, PodSandboxStatsResponse> = async ({ podSandboxId }) => ({
    stats: await this.usage.of(this.sandboxes.require(podSandboxId)),
  });
}
