import type { AttachRequest, AttachResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { StreamServer } from '../streaming/index.js';
import { streamUrl } from '../streaming/stream-url.js';
import { Token, type Containers } from '../tokens.js';
import { validateStreams } from './wanted-streams.js';

/** CRI Attach: answers with the URL at which a client is attached, once. */
@scoped(Lifecycle.ContainerScoped)
export class Attach {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.StreamServer) private readonly streams: StreamServer,
  ) {}

  readonly handle: UnaryCall<AttachRequest, AttachResponse> = async ({ containerId, tty, stdin, stdout, stderr }) => {
    const { id, phase } = this.containers.require(containerId);
    validateStreams({ tty, stdin, stdout, stderr });
    if (phase !== 'running') throw failedPrecondition(`container ${id} does not run`);
    return { url: streamUrl(this.streams, { kind: 'attach', containerId: id, tty, stdin, stdout, stderr }) };
  };
}
