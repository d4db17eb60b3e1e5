import { status } from '@grpc/grpc-js';
import { StreamInit, type StreamingService } from '../gen/services/streaming/v1/streaming.js';
import type { Any } from '../gen/google/protobuf/any.js';
import { FakeStatus, invalidArgument, notFound } from './fake-status.js';
import type { Handlers } from './serve.js';

/** The server's side of a named stream. */
export interface FakeStream {
  send(message: Any): void;
  /** What the client sends; ends when the client goes. */
  readonly messages: AsyncIterableIterator<Any>;
  /** Ends the stream from the server. */
  end(): void;
}

/** Streams by namespace and id. As in containerd, the id of an ended stream stays taken. */
export class StreamRegistry {
  private readonly streams = new Map<string, FakeStream>();

  get(namespace: string, id: string): FakeStream {
    const stream = this.streams.get(`${namespace}/${id}`);
    if (stream === undefined) throw notFound(`stream ${JSON.stringify(id)}`);
    return stream;
  }

  handlers(): Handlers<typeof StreamingService> {
    return {
      stream: async (messages, send, { namespace, signal }) => {
        const first = await messages.next();
        if (first.done) return;
        if (first.value.typeUrl !== 'containerd.services.streaming.v1.StreamInit') throw invalidArgument(`type URL ${first.value.typeUrl}`);
        const key = `${namespace}/${StreamInit.decode(first.value.value).id}`;
        if (this.streams.has(key)) throw new FakeStatus(status.UNKNOWN, 'already exists');
        await new Promise<void>((resolve) => {
          this.streams.set(key, { send, messages, end: resolve });
          signal.addEventListener('abort', () => resolve(), { once: true });
          send({ typeUrl: 'google.protobuf.Empty', value: Buffer.alloc(0) });
        });
      },
    };
  }
}
