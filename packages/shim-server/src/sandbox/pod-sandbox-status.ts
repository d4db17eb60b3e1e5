import type { PodSandboxStatusRequest, PodSandboxStatusResponse } from '@criquet/cri-api';
import { decodeSpec, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerStatuses } from '../container/container-statuses.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { verboseJson } from '../grpc/verbose-json.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import { unixNanos } from '../state/clock.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';
import { podSandboxStatus } from './sandbox-message.js';

/** CRI PodSandboxStatus, with the statuses of the pod's containers; verbose adds `info`, a JSON text with the pause process, the network namespace and the runtime spec. */
@scoped(Lifecycle.ContainerScoped)
export class GetPodSandboxStatus {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
  ) {}

  readonly handle: UnaryCall<PodSandboxStatusRequest, PodSandboxStatusResponse> = async (request, { signal }) => {
    const sandbox = this.sandboxes.require(request.podSandboxId);
    const info = request.verbose ? { info: await this.info(sandbox, signal) } : {};
    // The statuses and their time belong together: nothing happens between the two.
    const containers = this.statuses.recordsOf(sandbox.id);
    const timestamp = unixNanos();
    return {
      status: podSandboxStatus(this.sandboxes.get(sandbox.id) ?? sandbox),
      info,
      containersStatuses: containers.map((container) => this.statuses.of(container)),
      timestamp,
    };
  };

  private async info(sandbox: SandboxRecord, signal: AbortSignal): Promise<string> {
    const record = await this.containerd.containers.get(sandbox.id, { signal });
    return verboseJson({
      pid: sandbox.pid,
      netNamespacePath: sandbox.netnsPath,
      runtimeHandler: this.handlers.require(sandbox.runtimeHandler).name,
      runtimeType: record.runtime.name,
      snapshotKey: record.snapshotKey,
      snapshotter: record.snapshotter,
      image: record.image,
      config: sandbox.config,
      runtimeSpec: record.spec === undefined ? undefined : decodeSpec(record.spec),
    });
  }
}
