import type { OutputStream } from '../streaming/index.js';

/** What one attached client may be behind, bytes. */
export const BACKLOG_BYTES = 1024 * 1024;
/** How long the container waits for a client whose backlog is full. */
const PATIENCE_MS = 1_000;

/**
 * Hands one output of a container to the clients that are attached to it. Each has a backlog of its own. A client whose backlog is full
 * holds up the container for at most a second a chunk (64 KiB); when it has made no room by then it is cut off. So a client that is
 * slow, but reads 64 KiB a second, gets everything, and one that stands still costs the log and the other clients a second, once.
 */
export class OutputBroadcast {
  private readonly clients = new Set<OutputClient>();

  /** The chunk is copied when somebody is attached. Resolves when each client has room for more or was cut off. */
  write(chunk: Buffer): Promise<void> | undefined {
    if (this.clients.size === 0) return undefined;
    const copy = Buffer.from(chunk);
    return Promise.all([...this.clients].map((client) => client.offer(copy))).then(() => undefined);
  }

  /** The output has ended: clients end when they have taken their backlog. */
  end(): void {
    for (const client of this.clients) client.finish();
    this.clients.clear();
  }

  attach(stream: OutputStream): OutputClient {
    const client = new OutputClient(stream, () => this.clients.delete(client));
    this.clients.add(client);
    return client;
  }
}

/** How an attached client's output ended. */
export type ClientEnd = 'finished' | 'detached' | 'gone' | 'too slow';

/** One attached client of one output. */
export class OutputClient {
  readonly ended: Promise<ClientEnd>;
  private readonly backlog: Buffer[] = [];
  private bytes = 0;
  private sending = false;
  private finishing = false;
  private end: ClientEnd | undefined;
  private wake: (() => void) | undefined;
  private resolveEnded: (end: ClientEnd) => void = () => undefined;

  constructor(
    private readonly stream: OutputStream,
    private readonly forget: () => void,
  ) {
    this.ended = new Promise((resolve) => (this.resolveEnded = resolve));
  }

  /** @internal */
  async offer(chunk: Buffer): Promise<void> {
    if (this.end !== undefined) return;
    this.backlog.push(chunk);
    this.bytes += chunk.length;
    void this.send();
    if (this.bytes <= BACKLOG_BYTES) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(() => this.stop('too slow'), PATIENCE_MS);
    });
    clearTimeout(timer);
  }

  /** @internal Ends when the backlog is taken. */
  finish(): void {
    this.finishing = true;
    if (!this.sending && this.backlog.length === 0) this.stop('finished');
  }

  /** The client wants no more. */
  detach(): void {
    this.stop('detached');
  }

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    for (let chunk = this.backlog.shift(); chunk !== undefined && this.end === undefined; chunk = this.backlog.shift()) {
      const taken = await this.stream.write(chunk);
      this.bytes -= chunk.length;
      if (!taken) return this.stop('gone');
      if (this.bytes <= BACKLOG_BYTES) this.wake?.();
    }
    this.sending = false;
    if (this.finishing) this.stop('finished');
  }

  private stop(end: ClientEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.backlog.length = 0;
    this.forget();
    this.wake?.();
    this.resolveEnded(end);
  }
}
