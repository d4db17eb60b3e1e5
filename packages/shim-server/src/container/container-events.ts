import { ContainerEventType } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { unixNanos } from '../state/clock.js';
import type { ContainerPhase, ContainerRecord } from '../state/container-record.js';
import type { SandboxPhase, SandboxRecord } from '../state/sandbox-record.js';
import { Quota } from '../state/quota.js';
import { Token, type Containers, type Sandboxes } from '../tokens.js';
import { ContainerStatuses } from './container-statuses.js';
import { EventSubscription } from './event-subscription.js';

/** Something that happened to a container or to a sandbox, with the pod as it was right after it. */
export interface ContainerEvent {
  /** The container's id, or the sandbox's. */
  readonly id: string;
  readonly type: ContainerEventType;
  /** Unix time in nanoseconds. */
  readonly at: bigint;
  /** Absent when the sandbox is unknown. */
  readonly sandbox: SandboxRecord | undefined;
  readonly containers: readonly ContainerRecord[];
}

const { CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT, CONTAINER_STOPPED_EVENT, CONTAINER_DELETED_EVENT } = ContainerEventType;

/** What the arrival in a phase means to the outside. */
const CONTAINER_ARRIVALS: Readonly<Record<ContainerPhase, readonly ContainerEventType[]>> = {
  creating: [],
  created: [CONTAINER_CREATED_EVENT],
  running: [CONTAINER_STARTED_EVENT],
  exited: [CONTAINER_STOPPED_EVENT],
};
const SANDBOX_ARRIVALS: Readonly<Record<SandboxPhase, readonly ContainerEventType[]>> = {
  creating: [],
  ready: [CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT],
  stopped: [CONTAINER_STOPPED_EVENT],
  failed: [],
};

/**
 * The events of GetContainerEvents. They are made of the changes of records at the moment these become visible, so that none is
 * missed, whoever caused it, their order is the order of the changes, and a status asked for after an event is as new as the event.
 * As with containerd's plugin a sandbox has events too, under its own id.
 */
@scoped(Lifecycle.ContainerScoped)
export class ContainerEvents {
  private readonly subscriptions = new Set<EventSubscription<ContainerEvent>>();
  private readonly quota: Quota;
  private stopped = false;

  constructor(
    @inject(Token.Containers) containers: Containers,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
    @inject(Token.Config) { grpc }: CriquetConfig,
  ) {
    this.quota = new Quota({ limit: grpc.maxEventStreams, option: 'grpc.max_event_streams', what: 'too many readers of events' });
    containers.observe((before, after) => this.containerChanged(before, after));
    sandboxes.observe((before, after) => this.sandboxChanged(before, after));
  }

  /** Every event from now on, until the signal aborts or the daemon stops. @throws RESOURCE_EXHAUSTED when there are too many readers */
  async *subscribe(signal: AbortSignal): AsyncGenerator<ContainerEvent> {
    const release = this.quota.take();
    const subscription = new EventSubscription<ContainerEvent>();
    if (this.stopped) subscription.end();
    this.subscriptions.add(subscription);
    try {
      yield* subscription.read(signal);
    } finally {
      this.subscriptions.delete(subscription);
      release();
    }
  }

  /** Ends all streams: a daemon that stops does not wait for its readers. */
  stop(): void {
    this.stopped = true;
    for (const subscription of this.subscriptions) subscription.end();
  }

  private containerChanged(before: ContainerRecord | undefined, after: ContainerRecord | undefined): void {
    const record = after ?? before;
    if (record === undefined || this.subscriptions.size === 0) return;
    for (const type of arrivals(CONTAINER_ARRIVALS, before, after, before?.phase !== 'creating')) {
      this.publish(record.id, type, this.sandboxes.get(record.sandboxId), record.sandboxId);
    }
  }

  private sandboxChanged(before: SandboxRecord | undefined, after: SandboxRecord | undefined): void {
    const record = after ?? before;
    if (record === undefined || this.subscriptions.size === 0) return;
    const wasThere = before?.phase === 'ready' || before?.phase === 'stopped';
    for (const type of arrivals(SANDBOX_ARRIVALS, before, after, wasThere)) this.publish(record.id, type, record, record.id);
  }

  private publish(id: string, type: ContainerEventType, sandbox: SandboxRecord | undefined, sandboxId: string): void {
    const event = { id, type, at: unixNanos(), sandbox, containers: this.statuses.recordsOf(sandboxId) };
    for (const subscription of this.subscriptions) subscription.push(event);
  }
}

function arrivals<Phase extends string>(
  types: Readonly<Record<Phase, readonly ContainerEventType[]>>,
  before: { readonly phase: Phase } | undefined,
  after: { readonly phase: Phase } | undefined,
  wasThere: boolean,
): readonly ContainerEventType[] {
  if (after === undefined) return wasThere ? [CONTAINER_DELETED_EVENT] : [];
  return before === undefined || before.phase === after.phase ? [] : types[after.phase];
}
