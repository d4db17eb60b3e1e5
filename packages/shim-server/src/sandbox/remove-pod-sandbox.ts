import type { RemovePodSandboxRequest, RemovePodSandboxResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { Token, type Sandboxes } from '../tokens.js';
import { PodRemoval } from './pod-removal.js';

/** CRI RemovePodSandbox: containers that are left are forcibly ended and removed; removing what is gone succeeds. */
@scoped(Lifecycle.ContainerScoped)
export class RemovePodSandbox {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(PodRemoval) private readonly removal: PodRemoval,
  ) {}

  readonly handle: UnaryCall<RemovePodSandboxRequest, RemovePodSandboxResponse> = async (request, { signal }) => {
    if (request.podSandboxId === '') throw invalidArgument('pod_sandbox_id', 'is empty');
    const sandbox = this.sandboxes.find(request.podSandboxId);
    if (sandbox !== undefined) await this.removal.remove(sandbox.id, signal);
    return {};
  };
}
