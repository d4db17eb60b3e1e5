import type { ContainerStatusRequest, ContainerStatusResponse } from '@criquet/cri-api';
import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { goJson } from '../grpc/go-json.js';
import { verboseJson } from '../grpc/verbose-json.js';
import { runtimeRecord } from '../runtime/runtime-record.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerStatuses } from './container-statuses.js';

/** CRI ContainerStatus; verbose adds `info`, a JSON text with the keys that containerd's plugin has there. */
@scoped(Lifecycle.ContainerScoped)
export class GetContainerStatus {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
  ) {}

  readonly handle: UnaryCall<ContainerStatusRequest, ContainerStatusResponse> = async (request, context) => {
    const container = this.containers.require(request.containerId);
    if (!request.verbose) return this.statuses.encoded(container);
    const status = this.statuses.of(container);
    return { status, info: { info: await this.info(container, context.signal) } };
  };

  private async info(container: ContainerRecord, signal: AbortSignal): Promise<string> {
    const { image: _, ...runtime } = runtimeRecord(await this.containerd.containers.get(container.id, { signal }));
    return verboseJson({
      sandboxID: container.sandboxId,
      pid: container.pid,
      removing: false,
      ...runtime,
      config: goJson(container.config),
    });
  }
}
