import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { InboundLimits } from '../inbound-limit.js';
import { ResetStatus } from '../spdy/spdy-error.js';
import { SpdySession } from '../spdy/spdy-session.js';
import type { SpdyStream } from '../spdy/spdy-stream.js';
import type { StreamRuntime } from '../stream-runtime.js';
import { forwardError, portNumber } from './port-number.js';

export const SPDY_PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';

/**
 * A connection whose pod takes nothing may fill this much; then all connections of the session wait, since their client cannot be told to hold
 * back one of them; and after the time it is reset.
 */
const FORWARD_LIMITS: InboundLimits = { bytes: 16 * 1024 * 1024, stallMs: 5_000 };

export interface SpdyPortForwardOptions {
  readonly transport: Duplex;
  readonly head: Buffer;
  readonly podSandboxId: string;
  readonly runtime: Pick<StreamRuntime, 'portForward'>;
  /** How long the client may take to open the second stream of a pair, milliseconds. */
  readonly creationTimeoutMs: number;
  readonly log: Logger;
}

/** The two streams of one forwarded connection, until both are there. */
interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly timer: NodeJS.Timeout;
}

/** Forwards connections, each a pair of streams, until the client closes the session. */
export async function serveSpdyPortForward(options: SpdyPortForwardOptions): Promise<void> {
  const forwarder = new SpdyPortForward(options);
  await forwarder.done;
}

class SpdyPortForward {
  readonly done: Promise<void>;
  private readonly gone = new AbortController();
  private readonly pairs = new Map<string, Pair>();

  constructor(private readonly options: SpdyPortForwardOptions) {
    const { transport, head } = options;
    const session = new SpdySession(transport, head, { inbound: FORWARD_LIMITS, onStream: (stream) => this.accept(stream) });
    this.done = session.closed.then(() => {
      this.gone.abort();
      for (const { timer } of this.pairs.values()) clearTimeout(timer);
    });
  }

  /** @throws Error for a stream without the headers it needs: it is refused */
  private accept(stream: SpdyStream): void {
    const type = stream.headers.get('streamtype');
    const port = portNumber(stream.headers.get('port'));
    if (port === undefined || (type !== 'data' && type !== 'error')) throw new Error('no stream of a forwarded connection');
    const id = requestId(stream, type);
    const pair = this.pairs.get(id) ?? this.begin(id);
    if (pair[type] !== undefined) throw new Error(`a second ${type} stream of request ${id}`);
    pair[type] = stream;
    const { data, error } = pair;
    if (data === undefined || error === undefined) return;
    clearTimeout(pair.timer);
    this.pairs.delete(id);
    void this.forward(port, data, error);
  }

  private begin(id: string): Pair {
    const timer = setTimeout(() => {
      const pair = this.pairs.get(id);
      this.pairs.delete(id);
      pair?.error?.end('timed out waiting for the data stream');
      pair?.data?.abandon(ResetStatus.cancel);
    }, this.options.creationTimeoutMs);
    const pair: Pair = { timer };
    this.pairs.set(id, pair);
    return pair;
  }

  private async forward(port: number, data: SpdyStream, error: SpdyStream): Promise<void> {
    const { runtime, podSandboxId, log } = this.options;
    // Nothing comes on it but its end.
    error.resume();
    const ended = new AbortController();
    data.once('close', () => ended.abort());
    try {
      await runtime.portForward(podSandboxId, port, data, AbortSignal.any([this.gone.signal, ended.signal]));
      error.end();
    } catch (failure) {
      if (this.gone.signal.aborted || data.destroyed) {
        error.end();
        return;
      }
      const message = forwardError(port, podSandboxId, failure);
      log.debug({ podSandboxId, port, err: message }, 'port-forward failed');
      error.end(message);
      data.abandon(ResetStatus.internalError);
    }
  }
}

/** Old clients name no request: their two streams come one after the other, the error stream first. */
function requestId(stream: SpdyStream, type: 'data' | 'error'): string {
  return stream.headers.get('requestid') ?? `stream ${type === 'error' ? stream.id : stream.id - 2}`;
}
