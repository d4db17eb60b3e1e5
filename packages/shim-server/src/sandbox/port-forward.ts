import type { PortForwardRequest, PortForwardResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { StreamServer } from '../streaming/index.js';
import { streamUrl } from '../streaming/stream-url.js';
import { Token, type Sandboxes } from '../tokens.js';

const MAX_PORTS = 128;

/** CRI PortForward: answers with the URL at which ports of the pod are reached, once. */
@scoped(Lifecycle.ContainerScoped)
export class PortForward {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.StreamServer) private readonly streams: StreamServer,
  ) {}

  readonly handle: UnaryCall<PortForwardRequest, PortForwardResponse> = async ({ podSandboxId, port: ports }) => {
    const { id, phase } = this.sandboxes.require(podSandboxId);
    if (phase !== 'ready') throw failedPrecondition(`sandbox ${id} is not ready`);
    // Two channels each, and a channel's number has eight bits.
    if (ports.length > MAX_PORTS) throw invalidArgument('port', `${ports.length} ports; at most ${MAX_PORTS} fit into a session`);
    for (const port of ports) if (port < 1 || port > 65_535) throw invalidArgument('port', `${port} is no port`);
    return { url: streamUrl(this.streams, { kind: 'portforward', podSandboxId: id, ports }) };
  };
}
