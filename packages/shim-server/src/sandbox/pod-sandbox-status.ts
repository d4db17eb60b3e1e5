import type { PodSandboxStatusRequest, PodSandboxStatusResponse } from '@criquet/cri-api';
import { decodeSpec, type Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { verboseJson } from '../grpc/verbose-json.js';
import { RuntimeHandlers } from '../runtime/runtime-handlers.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';
import { sandboxState } from './list-pod-sandbox.js';

/** CRI PodSandboxStatus; verbose adds `info`, a JSON text with the pause process, the network namespace and the runtime spec. */
@scoped(Lifecycle.ContainerScoped)
export class GetPodSandboxStatus {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
  ) {}

  readonly handle: UnaryCall<PodSandboxStatusRequest, PodSandboxStatusResponse> = async (request, { signal }) => {
    const sandbox = this.sandboxes.require(request.podSandboxId);
    const { config } = sandbox;
    const [ip = '', ...additional] = sandbox.ips;
    return {
      status: {
        id: sandbox.id,
        metadata: config.metadata,
        state: sandboxState(sandbox),
        createdAt: sandbox.createdAt,
        network: { ip, additionalIps: additional.map((address) => ({ ip: address })) },
        linux: { namespaces: { options: config.linux?.securityContext?.namespaceOptions } },
        labels: config.labels,
        annotations: config.annotations,
        runtimeHandler: sandbox.runtimeHandler,
      },
      info: request.verbose ? { info: await this.info(sandbox, signal) } : {},
      containersStatuses: [],
      timestamp: 0n,
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
