import { ListPodSandboxResponse, type ListPodSandboxRequest, type PodSandbox, type PodSandboxFilter } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { EncodedList } from '../grpc/encoded-list.js';
import { matchesLabels } from '../state/label-selector.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type Sandboxes } from '../tokens.js';
import { podSandbox, sandboxState } from './sandbox-message.js';

/** CRI ListPodSandbox: answered from the index, never from a shim. */
@scoped(Lifecycle.ContainerScoped)
export class ListPodSandbox {
  private readonly reply = new EncodedList(ListPodSandboxResponse, (record: SandboxRecord) => ({ items: [podSandbox(record)] }));

  constructor(@inject(Token.Sandboxes) private readonly sandboxes: Sandboxes) {
    sandboxes.observe(() => this.reply.changed());
  }

  readonly handle: UnaryCall<ListPodSandboxRequest, ListPodSandboxResponse> = ({ filter }) =>
    Promise.resolve(asksForAll(filter) ? this.reply.ofAll(() => this.records(undefined)) : this.reply.of(this.records(filter)));

  list(filter: PodSandboxFilter | undefined): PodSandbox[] {
    return this.records(filter).map(podSandbox);
  }

  private records(filter: PodSandboxFilter | undefined): SandboxRecord[] {
    return this.sandboxes.all().filter((sandbox) => sandbox.phase !== 'creating' && matches(sandbox, filter));
  }
}

/** The kubelet sends a filter without a condition. */
function asksForAll(filter: PodSandboxFilter | undefined): boolean {
  return filter === undefined || (filter.id === '' && filter.state === undefined && Object.keys(filter.labelSelector).length === 0);
}

function matches(sandbox: SandboxRecord, filter: PodSandboxFilter | undefined): boolean {
  if (filter === undefined) return true;
  if (filter.id !== '' && !sandbox.id.startsWith(filter.id)) return false;
  if (filter.state !== undefined && filter.state.state !== sandboxState(sandbox)) return false;
  return matchesLabels(sandbox.config.labels, filter.labelSelector);
}
