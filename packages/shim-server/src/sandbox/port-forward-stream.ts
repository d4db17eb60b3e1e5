import { finished } from 'node:stream/promises';
import type { Duplex } from 'node:stream';
import type { NetnsConnection, NetnsProvider } from '@criquet/network-cni';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import { Token, type Sandboxes } from '../tokens.js';

/** Connects a streaming client with a port inside of a pod: on IPv4's loopback, or on IPv6's where nobody listens there. */
@scoped(Lifecycle.ContainerScoped)
export class PortForwardStream {
  constructor(
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Netns) private readonly netns: NetnsProvider,
  ) {}

  async run(podSandboxId: string, port: number, client: Duplex, gone: AbortSignal): Promise<void> {
    const sandbox = this.sandboxes.require(podSandboxId);
    if (sandbox.phase !== 'ready') throw failedPrecondition(`sandbox ${podSandboxId} is not ready`);
    const pod = await this.netns.connect(sandbox.netnsPath === '' ? undefined : sandbox.netnsPath, port);
    const { input, output } = pod;
    const cut = () => {
      input.destroy();
      output.destroy();
      client.destroy();
    };
    for (const stream of [input, output]) stream.on('error', () => undefined);
    gone.addEventListener('abort', cut);
    if (gone.aborted) cut();
    try {
      await copyBothWays(client, pod);
    } finally {
      gone.removeEventListener('abort', cut);
      cut();
    }
  }
}

/**
 * Each direction ends by itself and passes its end on. A pod that takes no more, because its server has answered and closed, loses nothing
 * of its answer; when that is delivered the client's stream is given up, as nobody will take what it still sends.
 */
async function copyBothWays(client: Duplex, { input, output }: NetnsConnection): Promise<void> {
  client.pipe(output);
  output.once('close', () => {
    // What is still coming is dropped until the answer is delivered.
    client.unpipe(output);
    client.resume();
  });
  // A client that has reset its stream sends no end.
  client.once('close', () => output.end());
  input.pipe(client);
  // A connection that breaks has ended, too.
  input.once('close', () => client.end());
  const answered = finished(client, { readable: false }).catch(() => undefined);
  const sent = finished(output, { readable: false }).catch(() => undefined);
  await Promise.all([answered, sent]);
}
