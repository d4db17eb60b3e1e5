import type { ContainerStatusRequest, ContainerStatusResponse } from '@criquet/cri-api';
import { decodeSpec, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { verboseJson } from '../grpc/verbose-json.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerStatuses } from './container-statuses.js';

/** CRI ContainerStatus; verbose adds `info`, a JSON text with the process, the snapshot and the runtime spec. */
@scoped(Lifecycle.ContainerScoped)
export class GetContainerStatus {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
  ) {}

  readonly handle: UnaryCall<ContainerStatusRequest, ContainerStatusResponse> = async (request, { signal }) => {
    const container = this.containers.require(request.containerId);
    const status = this.statuses.of(container);
    return { status, info: request.verbose ? { info: await this.info(container, signal) } : {} };
  };

  private async info(container: ContainerRecord, signal: AbortSignal): Promise<string> {
    const record = await this.containerd.containers.get(container.id, { signal });
    return verboseJson({
      sandboxID: container.sandboxId,
      pid: container.pid,
      removing: false,
      snapshotKey: record.snapshotKey,
      snapshotter: record.snapshotter,
      runtimeType: record.runtime.name,
      config: container.config,
      runtimeSpec: record.spec === undefined ? undefined : decodeSpec(record.spec),
    });
  }
}
