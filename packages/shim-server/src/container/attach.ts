import type { AttachRequest, AttachResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { StreamServer } from '../streaming/index.js';
import { streamUrl } from '../streaming/stream-url.js';
import { Token, type Containers } from '../tokens.js';
import { AttachQuota } from './attach-quota.js';
import { expectStream } from './wanted-streams.js';

/** CRI Attach: answers with the URL at which a client is attached, once. */
@scoped(Lifecycle.ContainerScoped)
export class Attach {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.StreamServer) private readonly streams: StreamServer,
    @inject(AttachQuota) private readonly quota: AttachQuota,
  ) {}

  readonly handle: UnaryCall<AttachRequest, AttachResponse> = async ({ containerId, tty, stdin, stdout, stderr }) => {
    const { id, phase } = this.containers.require(containerId);
    expectStream({ stdin, stdout, stderr });
    if (phase !== 'running') throw failedPrecondition(`container ${id} does not run`);
    this.quota.check(id);
    // A kubelet says whether the container has a terminal, and which streams its client asks for. cri-api has no errors with a terminal, but only a
    // client without one asks for them (`kubectl attach` in a pipe): it opens a stream for errors, on which nothing comes, and none for sizes.
    return { url: streamUrl(this.streams, { kind: 'attach', containerId: id, tty: tty && !stderr, stdin, stdout, stderr }) };
  };
}
