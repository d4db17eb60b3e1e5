import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer, type WebSocket } from 'ws';
import { ShimError } from '../errors.js';
import { Quota } from '../state/quota.js';
import { Listener, type ListenerState } from './listener.js';
import { serveSpdyPortForward, SPDY_PORT_FORWARD_PROTOCOL } from './port-forward/spdy-port-forward.js';
import { serveWebSocketPortForward, TUNNEL_PROTOCOL, WEBSOCKET_PORT_FORWARD_PROTOCOLS } from './port-forward/websocket-port-forward.js';
import { serveCommand, type CommandSession } from './remote-command/command-session.js';
import { openSpdyCommand, SPDY_COMMAND_PROTOCOLS } from './remote-command/spdy-command.js';
import { WebSocketCommand, WEBSOCKET_COMMAND_PROTOCOLS } from './remote-command/websocket-command.js';
import { RequestTokens } from './request-tokens.js';
import type { AttachTarget, ExecTarget, PortForwardTarget, StreamRuntime } from './stream-runtime.js';
import { acceptSpdy, chooseSpdyProtocol, chooseSubprotocol, refuse, upgradeKind, UpgradeRefused, type UpgradeRequest } from './upgrade.js';
import { WebSocketTunnel } from './websocket/websocket-tunnel.js';

export interface StreamServerOptions {
  readonly address: string;
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** A connection on which nothing moves for this long is closed, milliseconds. */
  readonly idleTimeoutMs: number;
  /** How long a URL can be used, milliseconds. */
  readonly tokenTtlMs: number;
  /** URLs that were given out and not used yet. */
  readonly tokenLimit: number;
  /** Sessions and forwarded connections under way at once; 0 is no limit. */
  readonly maxStreams: number;
  /** How long a client may take to open its streams, milliseconds. */
  readonly creationTimeoutMs: number;
  readonly runtime: StreamRuntime;
  readonly log: Logger;
}

/** What a URL is good for. */
export type StreamTarget =
  | ({ readonly kind: 'exec' } & ExecTarget)
  | ({ readonly kind: 'attach' } & AttachTarget)
  | ({ readonly kind: 'portforward' } & PortForwardTarget);

type CommandTarget = Exclude<StreamTarget, { kind: 'portforward' }>;
type ForwardTarget = Extract<StreamTarget, { kind: 'portforward' }>;

/** As other servers of these protocols: a message is kept whole until it is handed on. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** The HTTP server behind the URLs of Exec, Attach and PortForward. */
export class StreamServer {
  private readonly listener: Listener;
  private readonly tokens: RequestTokens<StreamTarget>;
  private readonly quota: Quota;
  private readonly subprotocols = new WeakMap<IncomingMessage, string>();
  private readonly webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
  });

  /** Each forwarded connection counts as a stream. */
  private readonly forwarding: Pick<StreamRuntime, 'portForward'> = {
    portForward: async (...args) => {
      const release = this.quota.take();
      try {
        await this.options.runtime.portForward(...args);
      } finally {
        release();
      }
    },
  };

  constructor(private readonly options: StreamServerOptions) {
    const { address, port, tls, log } = options;
    this.webSockets.on('headers', (headers, request) => {
      const name = this.subprotocols.get(request);
      if (name !== undefined) headers.push(`Sec-WebSocket-Protocol: ${name}`);
    });
    this.quota = new Quota({ limit: options.maxStreams, option: 'streaming.max_streams', what: 'too many streams are open' });
    this.tokens = new RequestTokens({ ttlMs: options.tokenTtlMs, limit: options.tokenLimit });
    this.listener = new Listener({
      address,
      port,
      ...(tls === undefined ? {} : { tls }),
      onUpgrade: (request, transport, head) => this.upgrade({ request, transport, head }),
      log,
    });
  }

  /** @throws Error when the address cannot be listened on or the certificate not be used */
  open(): Promise<void> {
    return this.listener.open();
  }

  /** Ends all streams. */
  async close(): Promise<void> {
    this.tokens.clear();
    await this.listener.close();
  }

  get state(): ListenerState {
    return this.listener.state;
  }

  /** A URL that does `target` once, within the time a token lives; undefined when too many wait for their client. */
  url(target: StreamTarget): string | undefined {
    const token = this.tokens.issue(target);
    if (token === undefined) return undefined;
    const { address, port, tls } = this.listener.state;
    const host = address.includes(':') ? `[${address}]` : address;
    return `${tls ? 'https' : 'http'}://${host}:${port}/${target.kind}/${token}`;
  }

  /** URLs that may wait for their client. */
  get tokenLimit(): number {
    return this.options.tokenLimit;
  }

  /** @throws RESOURCE_EXHAUSTED when as many streams are open as may be */
  requireRoom(): void {
    this.quota.check();
  }

  /** The URLs that nobody has used yet, each by a name that does not tell it. */
  waiting(): { readonly owner: string; readonly name: string }[] {
    return this.tokens.waiting().map(({ value, serial }) => ({ owner: ownerOf(value), name: `${value.kind} ${serial}` }));
  }

  /** URLs for a sandbox or container that is gone are of no use. */
  revoke(owner: string): void {
    this.tokens.revoke((target) => ownerOf(target) === owner);
  }

  private upgrade(upgrade: UpgradeRequest): void {
    upgrade.transport.on('error', () => upgrade.transport.destroy());
    try {
      const kind = upgradeKind(upgrade);
      this.refuseWithoutRoom();
      const target = this.redeem(upgrade.request);
      this.enter(upgrade.transport);
      const socket = upgrade.transport as Socket;
      socket.setTimeout(this.options.idleTimeoutMs, () => socket.destroy());
      if (target.kind === 'portforward') this.forward(upgrade, kind, target);
      else this.command(upgrade, kind, target);
    } catch (error) {
      if (!(error instanceof UpgradeRefused)) throw error;
      refuse(upgrade, error);
    }
  }

  /** A connection counts until it is closed, which it may be already. */
  private enter(transport: Duplex): void {
    const leave = this.quota.take();
    transport.once('close', leave);
    if (transport.closed) leave();
  }

  /** Before the URL is used up: its client may try again. @throws UpgradeRefused */
  private refuseWithoutRoom(): void {
    try {
      this.requireRoom();
    } catch (error) {
      throw error instanceof ShimError ? new UpgradeRefused(503, error.message) : error;
    }
  }

  private redeem({ url, method }: IncomingMessage): StreamTarget {
    const [, kind, token] = /^\/(exec|attach|portforward)\/([\w-]+)$/.exec((url ?? '').split('?')[0] ?? '') ?? [];
    const known = method === 'GET' || method === 'POST';
    const target = token === undefined || !known ? undefined : this.tokens.redeem(token, (value): value is StreamTarget => value.kind === kind);
    if (target === undefined) throw new UpgradeRefused(404, 'no such URL, or it was used before, or it is too old');
    return target;
  }

  private command(upgrade: UpgradeRequest, kind: 'spdy' | 'websocket', target: CommandTarget): void {
    if (kind === 'websocket') {
      const name = chooseSubprotocol(upgrade, Object.keys(WEBSOCKET_COMMAND_PROTOCOLS));
      const protocol = WEBSOCKET_COMMAND_PROTOCOLS[name];
      if (protocol === undefined) return;
      this.webSocket(upgrade, name, (socket) => void this.serve(target, `websocket ${name}`, () => new WebSocketCommand(socket, protocol, target)));
      return;
    }
    const name = chooseSpdyProtocol(upgrade, Object.keys(SPDY_COMMAND_PROTOCOLS));
    acceptSpdy(upgrade, name);
    const { transport, head } = upgrade;
    const { creationTimeoutMs } = this.options;
    const version = SPDY_COMMAND_PROTOCOLS[name] ?? 1;
    void this.serve(target, `spdy ${name}`, () => openSpdyCommand({ transport, head, version, wanted: target, creationTimeoutMs }));
  }

  private async serve(target: CommandTarget, protocol: string, open: () => CommandSession | Promise<CommandSession>): Promise<void> {
    const { kind, containerId } = target;
    const log = this.options.log.child({ stream: kind, containerId, protocol });
    try {
      const outcome = await serveCommand(await open(), ({ streams, gone }) => this.run(target, streams, gone));
      log.debug(outcome, 'ended');
    } catch (error) {
      log.warn({ err: (error as Error).message }, 'failed');
    }
  }

  private async run(target: CommandTarget, streams: CommandSession['streams'], gone: AbortSignal): Promise<number> {
    if (target.kind === 'exec') return this.options.runtime.exec(target, streams, gone);
    await this.options.runtime.attach(target, streams, gone);
    return 0;
  }

  private forward(upgrade: UpgradeRequest, kind: 'spdy' | 'websocket', target: ForwardTarget): void {
    const { creationTimeoutMs } = this.options;
    const runtime = this.forwarding;
    const { podSandboxId } = target;
    const log = this.options.log.child({ stream: 'portforward', podSandboxId });
    const spdy = (transport: Duplex, head: Buffer) => void serveSpdyPortForward({ transport, head, podSandboxId, runtime, creationTimeoutMs, log });
    if (kind === 'spdy') {
      acceptSpdy(upgrade, chooseSpdyProtocol(upgrade, [SPDY_PORT_FORWARD_PROTOCOL]));
      spdy(upgrade.transport, upgrade.head);
      return;
    }
    const name = chooseSubprotocol(upgrade, [TUNNEL_PROTOCOL, ...Object.keys(WEBSOCKET_PORT_FORWARD_PROTOCOLS)]);
    if (name === TUNNEL_PROTOCOL) {
      this.webSocket(upgrade, name, (socket) => spdy(new WebSocketTunnel(socket), Buffer.alloc(0)));
      return;
    }
    const codec = WEBSOCKET_PORT_FORWARD_PROTOCOLS[name] ?? 'binary';
    if (target.ports.length === 0) throw new UpgradeRefused(400, `unable to upgrade: ${name || 'a WebSocket without a protocol'} needs ports, and PortForward named none`);
    this.webSocket(upgrade, name, (socket) => void serveWebSocketPortForward({ socket, codec, target, runtime, log }));
  }

  private webSocket({ request, transport, head }: UpgradeRequest, name: string, then: (socket: WebSocket) => void): void {
    // The library refuses names with a slash, which Kubernetes uses for its tunnel; so it is told of none, and the answer gets its line here.
    delete request.headers['sec-websocket-protocol'];
    if (name !== '') this.subprotocols.set(request, name);
    this.webSockets.handleUpgrade(request, transport, head, then);
  }
}

function ownerOf(target: StreamTarget): string {
  return target.kind === 'portforward' ? target.podSandboxId : target.containerId;
}
