import type { Container, ContainerFilter, ListContainersRequest, ListContainersResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import type { ContainerRecord } from '../state/container-record.js';
import { matchesLabels } from '../state/label-selector.js';
import { Token, type Containers } from '../tokens.js';
import { containerMessage, containerState } from './container-message.js';

/** CRI ListContainers: answered from the index, never from a shim. */
@scoped(Lifecycle.ContainerScoped)
export class ListContainers {
  constructor(@inject(Token.Containers) private readonly containers: Containers) {}

  readonly handle: UnaryCall<ListContainersRequest, ListContainersResponse> = ({ filter }) =>
    Promise.resolve({ containers: this.list(filter) });

  list(filter: ContainerFilter | undefined): Container[] {
    return this.containers
      .all()
      .filter((container) => container.phase !== 'creating' && matches(container, filter))
      .map(containerMessage);
  }
}

function matches(container: ContainerRecord, filter: ContainerFilter | undefined): boolean {
  if (filter === undefined) return true;
  if (filter.id !== '' && !container.id.startsWith(filter.id)) return false;
  if (filter.podSandboxId !== '' && !container.sandboxId.startsWith(filter.podSandboxId)) return false;
  if (filter.state !== undefined && filter.state.state !== containerState(container)) return false;
  return matchesLabels(container.config.labels, filter.labelSelector);
}
