import type { WebSocket } from 'ws';
import { ChannelConnection } from '../websocket/channel-connection.js';
import type { ChannelCodec } from '../websocket/channel-codec.js';
import type { InboundLimits } from '../inbound-limit.js';
import type { CommandStreams, OutputStream } from '../stream-runtime.js';
import { commandStatus, type CommandOutcome } from './command-status.js';
import type { CommandSession, WantedStreams } from './command-session.js';
import { SizeDecoder, TerminalSizes } from './terminal-sizes.js';

export interface CommandSubprotocol {
  readonly version: number;
  readonly codec: ChannelCodec;
}

/** By the names of Sec-WebSocket-Protocol; a client that names none speaks the first version. */
export const WEBSOCKET_COMMAND_PROTOCOLS: Readonly<Record<string, CommandSubprotocol>> = {
  'v5.channel.k8s.io': { version: 5, codec: 'binary' },
  'v5.base64.channel.k8s.io': { version: 5, codec: 'base64' },
  'v4.channel.k8s.io': { version: 4, codec: 'binary' },
  'v4.base64.channel.k8s.io': { version: 4, codec: 'base64' },
  'v3.channel.k8s.io': { version: 3, codec: 'binary' },
  'v3.base64.channel.k8s.io': { version: 3, codec: 'base64' },
  'v2.channel.k8s.io': { version: 2, codec: 'binary' },
  'v2.base64.channel.k8s.io': { version: 2, codec: 'base64' },
  'channel.k8s.io': { version: 1, codec: 'binary' },
  'base64.channel.k8s.io': { version: 1, codec: 'base64' },
  '': { version: 1, codec: 'binary' },
};

const Channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const STDIN_LIMITS: InboundLimits = { bytes: 1024 * 1024 };

/** Exec and attach over a WebSocket. */
export class WebSocketCommand implements CommandSession {
  readonly streams: CommandStreams;
  readonly gone: AbortSignal;
  private readonly connection: ChannelConnection;

  constructor(
    socket: WebSocket,
    private readonly protocol: CommandSubprotocol,
    wanted: WantedStreams,
  ) {
    const { codec, version } = protocol;
    this.connection = new ChannelConnection(socket, {
      codec,
      closeSignal: version >= 5,
      readable: [...(wanted.stdin ? [Channel.stdin] : []), Channel.resize],
      inbound: STDIN_LIMITS,
    });
    const gone = new AbortController();
    this.gone = gone.signal;
    void this.connection.closed.then(() => gone.abort());
    const stdin = this.connection.input(Channel.stdin);
    const stderr = wanted.stderr && !wanted.tty;
    this.streams = {
      sizes: this.sizes(),
      ...(stdin === undefined ? {} : { stdin }),
      ...(wanted.stdout ? { stdout: this.output(Channel.stdout) } : {}),
      ...(stderr ? { stderr: this.output(Channel.stderr) } : {}),
    };
    // Clients take an empty message on the first channel they read as "connected".
    const first = wanted.stdout ? Channel.stdout : stderr ? Channel.stderr : Channel.error;
    void this.connection.send(first, Buffer.alloc(0));
  }

  async finish(outcome: CommandOutcome): Promise<void> {
    const status = commandStatus(outcome, this.protocol.version);
    if (status !== '') await this.connection.send(Channel.error, Buffer.from(status));
    await this.connection.end();
  }

  private output(channel: number): OutputStream {
    return { write: (chunk) => this.connection.send(channel, chunk) };
  }

  private sizes(): TerminalSizes {
    const sizes = new TerminalSizes();
    const decoder = new SizeDecoder(sizes);
    const resize = this.connection.input(Channel.resize);
    resize?.on('data', (chunk: Buffer) => decoder.push(chunk)).once('close', () => sizes.end());
    return sizes;
  }
}
