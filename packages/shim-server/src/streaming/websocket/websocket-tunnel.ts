import { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';

const NORMAL_CLOSURE = 1000;
const SIGN_OF_LIFE_MS = 10_000;

/** A byte stream in the binary messages of a WebSocket: what `SPDY/3.1+portforward.k8s.io` carries SPDY in. */
export class WebSocketTunnel extends Duplex {
  private signOfLife: NodeJS.Timeout | undefined;

  constructor(private readonly socket: WebSocket) {
    super({ allowHalfOpen: true });
    socket.on('message', (data: RawData) => {
      if (this.push(data as Buffer)) return;
      socket.pause();
      // While nothing is read, pings are not answered; a client gives up after a minute without a sign of life.
      this.signOfLife ??= setInterval(() => socket.pong(undefined, undefined, () => undefined), SIGN_OF_LIFE_MS);
    });
    socket.on('error', () => this.destroy());
    socket.once('close', () => {
      this.push(null);
      this.destroy();
    });
  }

  override _read(): void {
    clearInterval(this.signOfLife);
    this.signOfLife = undefined;
    this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.socket.readyState !== this.socket.OPEN) done(new Error('the WebSocket is closed'));
    else this.socket.send(chunk, done);
  }

  /** A head and its data become one message. */
  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'utf8', done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.socket.close(NORMAL_CLOSURE);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.signOfLife);
    this.socket.terminate();
    done(error);
  }
}
