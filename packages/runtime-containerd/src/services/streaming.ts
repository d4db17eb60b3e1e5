import { randomUUID } from 'node:crypto';
import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { ContainerdError } from '../errors.js';
import type { Any as WireAny } from '../gen/google/protobuf/any.js';
import { StreamingService, StreamInit } from '../gen/services/streaming/v1/streaming.js';
import { fromWireAny, toWireAny } from '../grpc/any.js';
import type { Channel, Duplex } from '../grpc/channel.js';
import { status } from '@grpc/grpc-js';

/** The streaming service (containerd.services.streaming.v1): named channels that other calls refer to. */
export interface Streaming {
  /**
   * Opens a stream under a name of its own and waits until the server has acknowledged it. A name can be used once: the
   * server keeps it until the lease ends, so pass the lease of the work it belongs to.
   */
  open(id: string, options?: CallOptions): Promise<NamedStream>;
}

export interface NamedStream {
  readonly id: string;
  send(message: Any): void;
  /** Read them all: messages that nobody reads block the server. Ends when the server ends the stream or `close` is called. */
  readonly messages: AsyncIterable<Any>;
  /** Cancels the stream. The server's own end is not waited for: it never ends an auth stream. */
  close(): void;
}

const STREAM_INIT = 'containerd.services.streaming.v1.StreamInit';

export function streamingService(channel: Channel): Streaming {
  return {
    async open(id, { timeoutMs = channel.defaultTimeoutMs, ...options } = {}) {
      // A deadline on the call would end the stream itself later on: only the acknowledgement is waited for with one.
      const stream = channel.duplex(StreamingService.stream, { ...options, timeoutMs: 0 });
      stream.send({ typeUrl: STREAM_INIT, value: Buffer.from(StreamInit.encode(StreamInit.fromPartial({ id })).finish()) });
      await acknowledged(stream, id, timeoutMs);
      return {
        id,
        send: (message) => stream.send(toWireAny(message)),
        messages: anys(stream.messages),
        close: () => {
          void stream.messages.return?.();
          stream.cancel();
        },
      };
    },
  };
}

/** A name that no other stream has: containerd keeps the name of an ended stream until its lease ends. */
export function newStreamId(purpose: string): string {
  return `${purpose}-${randomUUID()}`;
}

async function acknowledged(stream: Duplex<WireAny, WireAny>, id: string, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    if (timeoutMs === 0) return;
    const late = new ContainerdError(status.DEADLINE_EXCEEDED, 'streaming.stream', `stream ${id} was not acknowledged`);
    timer = setTimeout(() => reject(late), timeoutMs);
  });
  try {
    const first = await Promise.race([stream.messages.next(), expired]);
    if (first.done) throw new ContainerdError(status.UNAVAILABLE, 'streaming.stream', `stream ${id} ended before it began`);
  } catch (error) {
    stream.cancel();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function* anys(messages: AsyncIterable<WireAny>): AsyncGenerator<Any> {
  for await (const message of messages) yield fromWireAny(message);
}
