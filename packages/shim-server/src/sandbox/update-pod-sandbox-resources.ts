import type { UpdatePodSandboxResourcesRequest, UpdatePodSandboxResourcesResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { Token, type Sandboxes } from '../tokens.js';

/**
 * CRI UpdatePodSandboxResources: takes the pod's resources and overhead into its record. The kubelet has changed the pod's cgroup
 * itself before it calls, and the pause process has no limits of its own to be changed.
 */
@scoped(Lifecycle.ContainerScoped)
export class UpdatePodSandboxResources {
  constructor(@inject(Token.Sandboxes) private readonly sandboxes: Sandboxes) {}

  readonly handle: UnaryCall<UpdatePodSandboxResourcesRequest, UpdatePodSandboxResourcesResponse> = async (request) => {
    const { podSandboxId, overhead, resources } = request;
    const { id } = this.sandboxes.require(podSandboxId);
    await this.sandboxes.update(id, (record) => {
      const { linux } = record.config;
      const known = { cgroupParent: '', securityContext: undefined, sysctls: {}, overhead: undefined, resources: undefined, ...linux };
      const updated = { overhead: overhead ?? known.overhead, resources: resources ?? known.resources };
      return { ...record, config: { ...record.config, linux: { ...known, ...updated } } };
    });
    return {};
  };
}
