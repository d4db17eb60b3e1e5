import { Readable } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { InboundLimit, type InboundLimits } from '../inbound-limit.js';
import { decodeMessage, encodeMessage, type ChannelCodec } from './channel-codec.js';

/** First byte of a v5 message that closes the channel named by the second. */
const CLOSE_SIGNAL = 255;
/** While nothing is read, pings are not answered; a client gives up after a minute without a sign of life. */
const SIGN_OF_LIFE_MS = 10_000;
const NORMAL_CLOSURE = 1000;
/** How long a client may take to answer the close. */
const LINGER_MS = 5_000;

export interface ChannelConnectionOptions {
  readonly codec: ChannelCodec;
  /** Whether a client can close a channel (version 5). */
  readonly closeSignal: boolean;
  /** The channels on which the client may send; messages on others are dropped. */
  readonly readable: readonly number[];
  readonly inbound: InboundLimits;
}

/** Numbered channels over one WebSocket (`channel.k8s.io` and its versions). */
export class ChannelConnection {
  /** Resolves when the WebSocket is closed. */
  readonly closed: Promise<void>;
  private readonly inputs = new Map<number, ChannelInput>();
  private readonly limit: InboundLimit;
  private signOfLife: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: WebSocket,
    private readonly options: ChannelConnectionOptions,
  ) {
    this.limit = new InboundLimit(
      options.inbound,
      { pause: () => this.pause(), resume: () => this.resume() },
      { others: () => this.inputs.size > 1, giveUp: (stream) => stream.destroy(new Error('nothing was taken of it for too long')) },
    );
    for (const channel of options.readable) this.inputs.set(channel, new ChannelInput(this.limit));
    socket.on('message', (data: RawData) => this.receive(data as Buffer));
    socket.on('error', () => socket.terminate());
    this.closed = new Promise((resolve) => socket.once('close', () => resolve(this.onClosed())));
  }

  /** What the client sends on a channel of `readable`: ends by its close signal, is destroyed with the connection. */
  input(channel: number): Readable | undefined {
    return this.inputs.get(channel);
  }

  /** Resolves when the socket took it: true, or false when it is closed. */
  send(channel: number, data: Buffer): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.socket.readyState !== this.socket.OPEN) return resolve(false);
      this.socket.send(encodeMessage(this.options.codec, channel, data), (error) => resolve(!error));
    });
  }

  /** Closes after what was sent. */
  async end(): Promise<void> {
    // A paused socket would not see the client's answer.
    this.limit.close();
    this.resume();
    for (const input of this.inputs.values()) input.destroy();
    this.socket.close(NORMAL_CLOSURE);
    const timer = setTimeout(() => this.socket.terminate(), LINGER_MS);
    await this.closed;
    clearTimeout(timer);
  }

  private receive(message: Buffer): void {
    const [first, second] = message;
    if (this.options.closeSignal && first === CLOSE_SIGNAL && second !== undefined && message.length === 2) {
      this.inputs.get(second)?.receiveEnd();
      return;
    }
    const decoded = decodeMessage(this.options.codec, message);
    if (decoded !== undefined) this.inputs.get(decoded.channel)?.receive(decoded.data);
  }

  private pause(): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.socket.pause();
    this.signOfLife = setInterval(() => this.socket.pong(undefined, undefined, () => undefined), SIGN_OF_LIFE_MS);
  }

  private resume(): void {
    clearInterval(this.signOfLife);
    this.socket.resume();
  }

  private onClosed(): void {
    clearInterval(this.signOfLife);
    this.limit.close();
    for (const input of this.inputs.values()) input.destroy();
  }
}

class ChannelInput extends Readable {
  private over = false;

  constructor(private readonly limit: InboundLimit) {
    super();
    this.on('error', () => undefined);
  }

  receive(data: Buffer): void {
    if (this.over || this.destroyed || data.length === 0) return;
    if (!this.push(data)) this.limit.fellBehind(this);
  }

  receiveEnd(): void {
    if (this.over || this.destroyed) return;
    this.over = true;
    this.push(null);
  }

  override _read(): void {
    this.limit.caughtUp(this);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.limit.caughtUp(this);
    done(error);
  }
}
