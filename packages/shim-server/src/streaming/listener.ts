import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { CertificateFiles } from './certificate.js';

export interface ListenerOptions {
  readonly address: string;
  /** 0 takes a free one; it is kept when the listener is opened again. */
  readonly port: number;
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Told of each request for an upgrade; others are answered with 404. */
  readonly onUpgrade: (request: IncomingMessage, transport: Duplex, head: Buffer) => void;
  readonly log: Logger;
}

/** What there is to know of the listener at this moment. */
export interface ListenerState {
  readonly listening: boolean;
  readonly address: string;
  /** 0 before it was first opened. */
  readonly port: number;
  readonly tls: boolean;
  /** How often it was opened again. */
  readonly reopened: number;
  /** Why it does not listen. */
  readonly error?: string;
}

/** A listener that does not answer its own daemon is lost. */
const PROBE_MS = 5_000;
const PROBE_TIMEOUT_MS = 2_000;
const RETRY_MS = 1_000;
/**
 * Connections that have not asked for an upgrade yet. Everybody on the node may open some and say nothing; a kubelet asks at once. So when there
 * are too many the oldest goes.
 */
const MAX_WAITING = 256;

/** The HTTP listener of the streaming server. It watches itself and is opened again when it is lost, on the same port where that is free. */
export class Listener {
  private server: Server | HttpsServer | undefined;
  private readonly certificate: CertificateFiles | undefined;
  private port: number;
  private reopened = 0;
  private failure: string | undefined = 'not opened';
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private readonly sockets = new Set<Socket>();
  /** By the peer's address, which a TLS connection shares with the socket below it. */
  private readonly waiting = new Map<string, Socket>();

  constructor(private readonly options: ListenerOptions) {
    this.port = options.port;
    if (options.tls !== undefined) this.certificate = new CertificateFiles(options.tls.certFile, options.tls.keyFile);
  }

  /** @throws Error when the address cannot be listened on or the certificate not be used */
  async open(): Promise<void> {
    await this.listen();
    this.certificate?.watch(
      (pair) => {
        (this.server as HttpsServer).setSecureContext({ ...pair, minVersion: 'TLSv1.2' });
        this.options.log.info('streaming: certificate reloaded');
      },
      (error) => this.options.log.warn({ err: error.message }, 'streaming: the new certificate cannot be used; the one before stays'),
    );
    this.schedule(PROBE_MS);
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    this.certificate?.close();
    for (const socket of this.sockets) socket.destroy();
    await this.shut();
  }

  get state(): ListenerState {
    const { address, tls } = this.options;
    return {
      listening: this.failure === undefined,
      address,
      port: this.port,
      tls: tls !== undefined,
      reopened: this.reopened,
      ...(this.failure === undefined ? {} : { error: this.failure }),
    };
  }

  private async listen(): Promise<void> {
    const server = await this.createServer();
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.setKeepAlive(true, 30_000);
      const peer = peerOf(socket);
      this.wait(peer, socket);
      socket.once('close', () => {
        this.sockets.delete(socket);
        if (this.waiting.get(peer) === socket) this.waiting.delete(peer);
      });
    });
    server.on('upgrade', (request, transport, head) => {
      this.waiting.delete(peerOf(transport as Socket));
      this.options.onUpgrade(request, transport, head);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: this.options.address, port: this.port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    this.failure = undefined;
    // An error may be one connection that could not be accepted, so it is looked into; an end that nobody asked for is a loss.
    server.on('error', () => this.schedule(0));
    server.on('close', () => {
      if (server === this.server) this.schedule(0);
    });
  }

  private wait(peer: string, socket: Socket): void {
    this.waiting.set(peer, socket);
    if (this.waiting.size <= MAX_WAITING) return;
    const [oldest] = this.waiting;
    if (oldest === undefined) return;
    this.waiting.delete(oldest[0]);
    oldest[1].destroy();
  }

  private async createServer(): Promise<Server | HttpsServer> {
    const notFound = (_request: IncomingMessage, response: { writeHead(status: number): { end(body: string): void } }) =>
      response.writeHead(404).end('not found\n');
    if (this.certificate === undefined) return createHttpServer(notFound);
    return createHttpsServer({ ...(await this.certificate.read()), minVersion: 'TLSv1.2' }, notFound);
  }

  private schedule(ms: number): void {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.check(), ms).unref();
  }

  private async check(): Promise<void> {
    if (this.failure === undefined) {
      const failure = await this.probe();
      if (failure === undefined || this.closed) return this.schedule(PROBE_MS);
      this.failure = failure;
      this.options.log.error({ ...this.state }, 'streaming: the listener is lost; it is opened again');
    }
    await this.reopen();
  }

  private async reopen(): Promise<void> {
    await this.shut();
    if (this.closed) return;
    try {
      await this.listen();
      this.reopened += 1;
      this.options.log.info({ ...this.state }, 'streaming: listening again');
      this.schedule(PROBE_MS);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // Somebody else has taken the port that was a free one.
      if (code === 'EADDRINUSE' && this.options.port === 0) this.port = 0;
      this.failure = message;
      this.schedule(RETRY_MS);
    }
  }

  /** Why nobody can connect, or undefined. */
  private probe(): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (this.server?.listening !== true) return resolve('the listener was closed');
      const socket = connect({ host: reachable(this.options.address), port: this.port, timeout: PROBE_TIMEOUT_MS });
      const answer = (failure?: string) => {
        socket.destroy();
        resolve(failure);
      };
      socket.once('connect', () => answer());
      // A busy machine, not a lost listener: its backlog is full.
      socket.once('timeout', () => answer());
      socket.once('error', (error) => answer(error.message));
    });
  }

  private async shut(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      // Streams under way go on: they need no listener.
      server.closeIdleConnections();
      if (!this.closed) resolve();
    });
  }
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** An address that stands for all is reached by the loopback of its family. */
function reachable(address: string): string {
  if (address === '0.0.0.0' || address === '') return '127.0.0.1';
  return address === '::' ? '::1' : address;
}
