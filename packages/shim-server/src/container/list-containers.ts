import { ListContainersResponse, type Container, type ContainerFilter, type ListContainersRequest } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { EncodedList } from '../grpc/encoded-list.js';
import type { ContainerRecord } from '../state/container-record.js';
import { matchesLabels } from '../state/label-selector.js';
import { Token, type Containers } from '../tokens.js';
import { containerMessage, containerState } from './container-message.js';

/** CRI ListContainers: answered from the index, never from a shim. */
@scoped(Lifecycle.ContainerScoped)
export class ListContainers {
  private readonly reply = new EncodedList(ListContainersResponse, (record: ContainerRecord) => ({ containers: [containerMessage(record)] }));

  constructor(@inject(Token.Containers) private readonly containers: Containers) {
    containers.observe(() => this.reply.changed());
  }

  readonly handle: UnaryCall<ListContainersRequest, ListContainersResponse> = ({ filter }) =>
    Promise.resolve(asksForAll(filter) ? this.reply.ofAll(() => this.records(undefined)) : this.reply.of(this.records(filter)));

  list(filter: ContainerFilter | undefined): Container[] {
    return this.records(filter).map(containerMessage);
  }

  private records(filter: ContainerFilter | undefined): ContainerRecord[] {
    return this.containers.all().filter((container) => container.phase !== 'creating' && matches(container, filter));
  }
}

/** The kubelet sends a filter without a condition. */
function asksForAll(filter: ContainerFilter | undefined): boolean {
  return (
    filter === undefined ||
    (filter.id === '' && filter.podSandboxId === '' && filter.state === undefined && Object.keys(filter.labelSelector).length === 0)
  );
}

function matches(container: ContainerRecord, filter: ContainerFilter | undefined): boolean {
  if (filter === undefined) return true;
  if (filter.id !== '' && !container.id.startsWith(filter.id)) return false;
  if (filter.podSandboxId !== '' && !container.sandboxId.startsWith(filter.podSandboxId)) return false;
  if (filter.state !== undefined && filter.state.state !== containerState(container)) return false;
  return matchesLabels(container.config.labels, filter.labelSelector);
}
