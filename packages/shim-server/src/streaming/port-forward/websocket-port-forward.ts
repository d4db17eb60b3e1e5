import { Duplex, type Readable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Logger } from 'pino';
import type { InboundLimits } from '../inbound-limit.js';
import type { PortForwardTarget, StreamRuntime } from '../stream-runtime.js';
import { ChannelConnection } from '../websocket/channel-connection.js';
import type { ChannelCodec } from '../websocket/channel-codec.js';
import { forwardError } from './port-number.js';

/** By the names of Sec-WebSocket-Protocol; '' is a client that names none. */
export const WEBSOCKET_PORT_FORWARD_PROTOCOLS: Readonly<Record<string, ChannelCodec>> = {
  'v4.channel.k8s.io': 'binary',
  'v4.base64.channel.k8s.io': 'base64',
  '': 'binary',
};

/** SPDY inside of WebSocket messages. */
export const TUNNEL_PROTOCOL = 'SPDY/3.1+portforward.k8s.io';

const FORWARD_LIMITS: InboundLimits = { bytes: 16 * 1024 * 1024, stallMs: 5_000 };

export interface WebSocketPortForwardOptions {
  readonly socket: WebSocket;
  readonly codec: ChannelCodec;
  readonly target: PortForwardTarget;
  readonly runtime: Pick<StreamRuntime, 'portForward'>;
  readonly log: Logger;
}

/**
 * One connection for each port that the CRI call named: channel 2n carries its data and 2n+1 its error. The first message on either is the
 * port, two bytes, least significant first. A direction cannot be ended alone: the WebSocket closes when all connections have.
 */
export async function serveWebSocketPortForward({ socket, codec, target, runtime, log }: WebSocketPortForwardOptions): Promise<void> {
  const { ports, podSandboxId } = target;
  const connection = new ChannelConnection(socket, {
    codec,
    closeSignal: false,
    readable: ports.map((_, index) => index * 2),
    inbound: FORWARD_LIMITS,
  });
  const gone = new AbortController();
  void connection.closed.then(() => gone.abort());
  await Promise.all(
    ports.map(async (port, index) => {
      const [data, error] = [index * 2, index * 2 + 1];
      const name = Buffer.from([port & 0xff, port >> 8]);
      await Promise.all([connection.send(data, name), connection.send(error, name)]);
      const input = connection.input(data);
      if (input === undefined) return;
      const stream = new ChannelStream(connection, data, input);
      try {
        await runtime.portForward(podSandboxId, port, stream, gone.signal);
      } catch (failure) {
        if (gone.signal.aborted) return;
        const message = forwardError(port, podSandboxId, failure);
        log.debug({ podSandboxId, port, err: message }, 'port-forward failed');
        await connection.send(error, Buffer.from(message));
      } finally {
        stream.destroy();
      }
    }),
  );
  await connection.end();
}

/** One channel in both directions. */
class ChannelStream extends Duplex {
  constructor(
    private readonly connection: ChannelConnection,
    private readonly channel: number,
    private readonly input: Readable,
  ) {
    super({ allowHalfOpen: true });
    this.on('error', () => undefined);
    input.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) input.pause();
    });
    input.once('close', () => this.push(null));
  }

  override _read(): void {
    this.input.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.connection.send(this.channel, chunk).then((sent) => done(sent ? null : new Error('the WebSocket is closed')), done);
  }

  /** One direction cannot be ended alone. */
  override _final(done: (error?: Error | null) => void): void {
    done();
    this.destroy();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // What the client still sends has nobody to take it, and must not hold up the other channels.
    this.input.removeAllListeners('data').resume();
    done(error);
  }
}
