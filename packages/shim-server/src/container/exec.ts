import type { ExecRequest, ExecResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { StreamServer } from '../streaming/index.js';
import { streamUrl } from '../streaming/stream-url.js';
import { Token, type Containers } from '../tokens.js';
import { ExecQuota } from './exec-quota.js';
import { validateStreams } from './wanted-streams.js';

/** CRI Exec: answers with the URL at which the command is run, once. */
@scoped(Lifecycle.ContainerScoped)
export class Exec {
  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.StreamServer) private readonly streams: StreamServer,
    @inject(ExecQuota) private readonly quota: ExecQuota,
  ) {}

  readonly handle: UnaryCall<ExecRequest, ExecResponse> = async ({ containerId, cmd, tty, stdin, stdout, stderr }) => {
    const { id, phase } = this.containers.require(containerId);
    validateStreams({ tty, stdin, stdout, stderr });
    if (cmd.length === 0) throw invalidArgument('cmd', 'is empty');
    if (phase !== 'running') throw failedPrecondition(`container ${id} does not run`);
    this.quota.check(id);
    return { url: streamUrl(this.streams, { kind: 'exec', containerId: id, cmd, tty, stdin, stdout, stderr }) };
  };
}
