import type { PodSandboxStatusRequest, PodSandboxStatusResponse } from '@criquet/cri-api';
import type { NetnsProvider } from '@criquet/network-cni';
import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { ContainerStatuses } from '../container/container-statuses.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { goJson } from '../grpc/go-json.js';
import { verboseJson } from '../grpc/verbose-json.js';
import { runtimeRecord } from '../runtime/runtime-record.js';
import { unixNanos } from '../state/clock.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';
import { PodNetwork } from './pod-network.js';
import { podSandboxStatus } from './sandbox-message.js';

/** CRI PodSandboxStatus, with the statuses of the pod's containers; verbose adds `info`, a JSON text with the keys that containerd's plugin has there and a few more. */
@scoped(Lifecycle.ContainerScoped)
export class GetPodSandboxStatus {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Netns) private readonly netns: NetnsProvider,
    @inject(PodNetwork) private readonly network: PodNetwork,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
  ) {}

  readonly handle: UnaryCall<PodSandboxStatusRequest, PodSandboxStatusResponse> = async (request, context) => {
    const sandbox = this.sandboxes.require(request.podSandboxId);
    const info = request.verbose ? { info: await this.info(sandbox, context.signal) } : {};
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
    const runtime = runtimeRecord(await this.containerd.containers.get(sandbox.id, { signal }));
    const { linux } = sandbox.config;
    const config = goJson(sandbox.config);
    const cniResult = await this.network.shownResult(sandbox);
    const [ip = '', ...additional] = sandbox.ips;
    return verboseJson({
      pid: sandbox.pid,
      processStatus: sandbox.phase === 'ready' ? 'running' : 'deleted',
      netNamespaceClosed: sandbox.netnsPath !== '' && !(await this.netns.exists(sandbox.netnsPath)),
      netNamespacePath: sandbox.netnsPath,
      runtimeHandler: sandbox.handler,
      ...runtime,
      config,
      cniResult,
      sandboxMetadata: {
        Version: 'v1',
        Metadata: {
          ID: sandbox.id,
          Name: sandbox.name,
          Config: config,
          NetNSPath: sandbox.netnsPath,
          IP: ip,
          AdditionalIPs: additional,
          RuntimeHandler: sandbox.runtimeHandler,
          CNIResult: cniResult,
          ProcessLabel: runtime.runtimeSpec?.process?.selinuxLabel ?? '',
        },
      },
      ...(linux?.overhead === undefined ? {} : { overhead: { linux: goJson(linux.overhead) } }),
      ...(linux?.resources === undefined ? {} : { resources: { linux: goJson(linux.resources) } }),
    });
  }
}
