import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition, ShimError } from '../errors.js';
import { status } from '@grpc/grpc-js';
import type { ContainerRecord } from '../state/container-record.js';
import type { AttachTarget, CommandStreams } from '../streaming/index.js';
import { Token, type Containers } from '../tokens.js';
import { AttachQuota } from './attach-quota.js';
import { ContainerIo, type AttachableIo } from './container-io.js';
import type { ClientEnd, OutputClient } from './output-broadcast.js';
import { inputEnd } from './feed-stdin.js';
import { followSizes } from './follow-sizes.js';

/**
 * Attaches a streaming client to a running container: it sees the output from now on, beside the log and other clients.
 *
 * The end of the client's input ends the attach, and the container goes on; with `stdin_once` it also closes the container's input, for good,
 * and without a terminal the client then sees the output to the container's end.
 */
@scoped(Lifecycle.ContainerScoped)
export class AttachStream {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(AttachQuota) private readonly quota: AttachQuota,
  ) {}

  async run({ containerId }: AttachTarget, streams: CommandStreams, gone: AbortSignal): Promise<void> {
    const container = this.containers.require(containerId);
    if (container.phase !== 'running') throw failedPrecondition(`container ${containerId} does not run`);
    const release = this.quota.take(containerId);
    try {
      await this.attach(container, streams, gone);
    } finally {
      release();
    }
  }

  private async attach({ id: containerId, config: { tty, stdinOnce } }: ContainerRecord, streams: CommandStreams, gone: AbortSignal): Promise<void> {
    const live = this.io.attachable(containerId);
    const clients = this.attachOutputs(live, streams);
    const detach = () => {
      for (const client of clients) client.detach();
    };
    const ended = new AbortController();
    gone.addEventListener('abort', detach);
    if (gone.aborted) detach();
    const input = streams.stdin === undefined ? undefined : this.feed(containerId, live, streams.stdin, stdinOnce, ended.signal);
    if (tty) void followSizes(streams.sizes, ended.signal, (size) => this.containerd.tasks.resizePty(containerId, size, { signal: ended.signal }));
    if (!(stdinOnce && !tty)) void input?.then((over) => (over === 'by the client' ? detach() : undefined));
    try {
      const ends = await Promise.all(clients.map((client) => client.ended));
      if (clients.length === 0) await input;
      if (ends.includes('too slow')) throw new ShimError(status.ABORTED, 'the client took the output too slowly and was cut off');
    } finally {
      gone.removeEventListener('abort', detach);
      ended.abort('over');
    }
  }

  private attachOutputs({ broadcasts }: AttachableIo, streams: CommandStreams): OutputClient[] {
    const clients: OutputClient[] = [];
    for (const [name, broadcast] of broadcasts) {
      const stream = streams[name];
      if (stream === undefined) continue;
      const client = broadcast.attach(stream);
      clients.push(client);
      // A client that is cut off, or has gone, is so for both outputs.
      void client.ended.then((end: ClientEnd) => {
        if (end === 'too slow' || end === 'gone') for (const other of clients) other.detach();
      });
    }
    return clients;
  }

  /** Resolves when the client's input has ended, the container takes no more, or the attach is over. */
  private async feed(
    containerId: string,
    live: AttachableIo,
    from: NonNullable<CommandStreams['stdin']>,
    once: boolean,
    ended: AbortSignal,
  ): Promise<'by the client' | 'otherwise'> {
    const byClient = inputEnd(from).then(() => 'by the client' as const);
    const writer = live.stdin?.acquire();
    if (writer === undefined) {
      from.resume();
      return byClient;
    }
    from.pipe(writer, { end: false });
    const otherwise = new Promise<'otherwise'>((resolve) => {
      writer.once('close', () => resolve('otherwise'));
      ended.addEventListener('abort', () => resolve('otherwise'), { once: true });
    });
    const over = await Promise.race([byClient, otherwise]);
    from.unpipe(writer);
    // What still comes must not stand in the way of the client's other streams.
    from.resume();
    if (once && (over === 'by the client' || from.destroyed)) {
      await live.stdin?.closeForGood();
      await this.containerd.tasks.closeIo(containerId).catch(() => undefined);
    }
    live.stdin?.release();
    return over;
  }
}
