import type { ContainerEventResponse, GetEventsRequest } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { StreamCall } from '../grpc/call-context.js';
import { podSandboxStatus } from '../sandbox/sandbox-message.js';
import { ContainerEvents, type ContainerEvent } from './container-events.js';
import { ContainerStatuses } from './container-statuses.js';

/**
 * CRI GetContainerEvents: created, started, stopped and deleted of containers and sandboxes from the moment of the call.
 * @throws RESOURCE_EXHAUSTED to a reader that is too slow, and when there are too many
 */
@scoped(Lifecycle.ContainerScoped)
export class GetContainerEvents {
  constructor(
    @inject(ContainerEvents) private readonly events: ContainerEvents,
    @inject(ContainerStatuses) private readonly statuses: ContainerStatuses,
  ) {}

  readonly handle: StreamCall<GetEventsRequest, ContainerEventResponse> = (_, { signal }) => this.stream(signal);

  private async *stream(signal: AbortSignal): AsyncGenerator<ContainerEventResponse> {
    for await (const event of this.events.subscribe(signal)) yield this.response(event);
  }

  private response({ id, type, at, sandbox, containers }: ContainerEvent): ContainerEventResponse {
    return {
      containerId: id,
      containerEventType: type,
      createdAt: at,
      podSandboxStatus: sandbox && podSandboxStatus(sandbox),
      containersStatuses: containers.map((container) => this.statuses.of(container)),
    };
  }
}
