import { createConnection, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { ContainerdError } from '../errors.js';
import { onAbort } from '../grpc/on-abort.js';
import { encodeTtrpcRequest, TtrpcAnswers, type TtrpcAnswer, type TtrpcRequest } from './ttrpc-message.js';

/** A node with hundreds of pods does not hold a socket for each of them, but a probe that comes every few seconds finds one. */
const IDLE_MS = 10_000;
/** Streams are 32 bits; implementations may take them for signed. */
const LAST_STREAM = 2 ** 31 - 1;
/** Answers are small. */
const READ_BYTES = 4096;

export interface TtrpcConnectionOptions {
  /** Milliseconds without a call after which it closes itself. Default 10000. */
  readonly idleMs?: number;
  /** The number of the last call that it takes. A client's are odd and rise. Default 2^31 - 1. */
  readonly lastStream?: number;
}

export interface TtrpcCallOptions {
  /** Milliseconds until DEADLINE_EXCEEDED; 0 is no limit. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface CallUnderWay {
  answer(answer: TtrpcAnswer): void;
  fail(code: status, details: string): void;
}

/**
 * A connection to a shim, over ttrpc, for any number of calls at once. It is opened when it is made, closes itself when it is idle, and keeps the process alive
 * only while a call is under way.
 *
 * A shim ends what it does for a call when the connection ends, and only then. So a connection takes no more calls once one of them was aborted or late, and ends
 * when the others have their answers, at once where there are none: what the shim does for a call that was given up ends then at the latest, and it takes no
 * other call with it.
 */
export class TtrpcConnection {
  private readonly socket: Socket;
  private readonly answers = new TtrpcAnswers();
  private readonly underWay = new Map<number, CallUnderWay>();
  private readonly lastStream: number;
  private nextStream = 1;
  private taking = true;

  /** @param socketPath absolute */
  constructor(socketPath: string, { idleMs = IDLE_MS, lastStream = LAST_STREAM }: TtrpcConnectionOptions = {}) {
    this.lastStream = lastStream;
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    this.socket = createConnection({ path: socketPath, onread: { buffer, callback: (bytes) => this.read(buffer.subarray(0, bytes)) } });
    // Its timer starts again with whatever is sent or comes, and keeps no process alive.
    this.socket.setTimeout(idleMs);
    this.socket.on('timeout', () => {
      if (this.underWay.size === 0) this.close();
    });
    this.socket.on('error', (error) => this.fail(status.UNAVAILABLE, error.message));
    for (const over of ['end', 'close']) this.socket.once(over, () => this.fail(status.UNAVAILABLE, 'the shim has closed the connection'));
    // 'end' is only told to who lets data flow.
    this.socket.resume();
  }

  /** False once it is closed or about to be: the next call needs another connection. */
  get takesCalls(): boolean {
    return this.taking;
  }

  /**
   * @throws ContainerdError as the shim answers, UNAVAILABLE where it is not there or goes away, INTERNAL when it sends what is no answer to this or any other call;
   * the signal's reason when it aborts
   */
  call(request: TtrpcRequest, { timeoutMs, signal }: TtrpcCallOptions): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const failed = (code: status, details: string) => new ContainerdError(code, `shim ${request.service}/${request.method}`, details);
      if (!this.taking) throw failed(status.UNAVAILABLE, 'the connection takes no more calls');
      const stream = this.nextStream;
      const over = () => {
        detach();
        clearTimeout(late);
        this.end(stream);
      };
      const giveUp = (error: Error) => {
        this.taking = false;
        over();
        reject(error);
      };
      const detach = onAbort(signal, () => giveUp(signal?.reason as Error));
      const late = timeoutMs === 0 ? undefined : setTimeout(() => giveUp(failed(status.DEADLINE_EXCEEDED, `no answer within ${timeoutMs} ms`)), timeoutMs);
      this.begin(stream, encodeTtrpcRequest(stream, request), {
        answer: ({ code, details, payload }) => {
          over();
          if (code === status.OK) resolve(payload);
          else reject(failed(code, details));
        },
        fail: (code, details) => {
          over();
          reject(failed(code, details));
        },
      });
    });
  }

  /** Takes no more calls, and ends when those under way have their answers. */
  close(): void {
    this.taking = false;
    if (this.underWay.size === 0) this.socket.destroy();
  }

  private begin(stream: number, message: Buffer, call: CallUnderWay): void {
    this.nextStream += 2;
    if (this.nextStream > this.lastStream) this.taking = false;
    if (this.underWay.size === 0) this.socket.ref();
    this.underWay.set(stream, call);
    // One that is not open yet sends it when it is.
    this.socket.write(message);
  }

  private end(stream: number): void {
    this.underWay.delete(stream);
    if (this.underWay.size > 0) return;
    if (this.taking) this.socket.unref();
    else this.socket.destroy();
  }

  /** @returns that reading goes on */
  private read(data: Uint8Array): boolean {
    try {
      for (const answer of this.answers.read(data)) {
        const { stream } = answer;
        if (stream % 2 === 0 || stream >= this.nextStream) throw new Error(`an answer to call ${stream}, which was not made`);
        // Nobody waits for it any more where there is none.
        this.underWay.get(stream)?.answer(answer);
      }
    } catch (error) {
      this.fail(status.INTERNAL, (error as Error).message);
    }
    return true;
  }

  private fail(code: status, details: string): void {
    this.taking = false;
    this.socket.destroy();
    for (const call of [...this.underWay.values()]) call.fail(code, details);
  }
}
