import { once } from 'node:events';
import { WebSocket } from 'ws';

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A connection to V8's inspector in another process (Chrome DevTools Protocol). */
export class Inspector implements Disposable {
  private readonly waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  private nextId = 1;

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => this.take(JSON.parse(data.toString()) as Reply));
    socket.on('close', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('the inspected process has gone'));
    });
  }

  /** @param port that the process listens on, as `--inspect` says */
  static async connect(port: number): Promise<Inspector> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
    if (target === undefined) throw new Error('nothing to inspect');
    // A heap profile comes in one message.
    const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false, maxPayload: 512 * 1024 * 1024 });
    await once(socket, 'open');
    return new Inspector(socket);
  }

  /** @throws what the inspector answers */
  call<T>(method: string, params: object = {}): Promise<T> {
    const id = this.nextId++;
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve: (result) => resolve(result as T), reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  [Symbol.dispose](): void {
    this.socket.close();
  }

  private take({ id = 0, result, error }: Reply): void {
    const waiter = this.waiting.get(id);
    this.waiting.delete(id);
    if (error === undefined) waiter?.resolve(result);
    else waiter?.reject(new Error(error.message));
  }
}
