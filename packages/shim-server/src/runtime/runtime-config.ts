import { CgroupDriver, type RuntimeConfigRequest, type RuntimeConfigResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import type { NodeFacts } from '../spec/index.js';
import { Token } from '../tokens.js';

/** CRI RuntimeConfig: the cgroup driver that the kubelet must use too. */
@scoped(Lifecycle.ContainerScoped)
export class RuntimeConfig {
  constructor(@inject(Token.NodeFacts) private readonly node: NodeFacts) {}

  readonly handle: UnaryCall<RuntimeConfigRequest, RuntimeConfigResponse> = () =>
    Promise.resolve({
      linux: { cgroupDriver: this.node.cgroupDriver === 'systemd' ? CgroupDriver.SYSTEMD : CgroupDriver.CGROUPFS },
    });
}
