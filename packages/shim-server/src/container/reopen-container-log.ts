import type { ReopenContainerLogRequest, ReopenContainerLogResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerIo } from './container-io.js';

/** CRI ReopenContainerLog: after a rotation; the new file exists when the call returns. */
@scoped(Lifecycle.ContainerScoped)
export class ReopenContainerLog {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerIo) private readonly io: ContainerIo,
  ) {}

  readonly handle: UnaryCall<ReopenContainerLogRequest, ReopenContainerLogResponse> = async (request) => {
    const container = this.containers.require(request.containerId);
    if (container.phase !== 'running') throw failedPrecondition(`container ${container.id} does not run`);
    await this.io.reopenLog(container.id);
    return {};
  };
}
