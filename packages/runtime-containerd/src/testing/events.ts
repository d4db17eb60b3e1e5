import type { EventsService } from '../gen/services/events/v1/events.js';
import type { Envelope } from '../gen/types/event.js';
import { MessageQueue } from '../grpc/message-queue.js';
import { toNanos } from '../grpc/timestamp.js';
import { decodeEvent } from '../services/decode-event.js';
import type { ContainerdEvent } from '../services/event-types.js';
import { now } from './clock.js';
import { parseFilters, type Fields } from './filters.js';
import type { Handlers } from './serve.js';

interface Encoder<T> {
  encode(message: T): { finish(): Uint8Array };
}

interface Subscriber {
  readonly matches: (envelope: Envelope) => boolean;
  readonly queue: MessageQueue<Envelope>;
}

/** The event exchange. */
export class EventExchange {
  /** All events so far, as they went over the wire. */
  readonly history: Envelope[] = [];
  private readonly subscribers = new Set<Subscriber>();

  /** All events so far, as a client decodes them. */
  get decoded(): ContainerdEvent[] {
    return this.history.map(({ timestamp, namespace, topic, event }) =>
      decodeEvent({ timestamp: toNanos(timestamp), namespace, topic, event: event ?? { typeUrl: '', value: Buffer.alloc(0) } }),
    );
  }

  get subscriberCount(): number {
    return this.subscribers.size;
  }

  /** `type` is the message's full name, as it stands in the type URL. */
  publish<T>(namespace: string, topic: string, type: string, encoder: Encoder<T>, message: T): void {
    const value = Buffer.from(encoder.encode(message).finish());
    this.forward({ timestamp: now(), namespace, topic, event: { typeUrl: type, value } });
  }

  forward(envelope: Envelope): void {
    this.history.push(envelope);
    for (const { matches, queue } of this.subscribers) if (matches(envelope)) queue.push(envelope);
  }

  subscribe(filters: readonly string[], signal: AbortSignal): AsyncIterable<Envelope> {
    const filter = parseFilters(filters);
    const nothing = () => undefined;
    const queue = new MessageQueue<Envelope>({ pause: nothing, resume: nothing }, nothing);
    const subscriber = { matches: (envelope: Envelope) => filter(envelopeFields(envelope)), queue };
    this.subscribers.add(subscriber);
    signal.addEventListener(
      'abort',
      () => {
        this.subscribers.delete(subscriber);
        queue.end();
      },
      { once: true },
    );
    return queue;
  }
}

export function eventHandlers(exchange: EventExchange): Handlers<typeof EventsService> {
  return {
    publish({ topic, event }, { namespace }) {
      exchange.forward({ timestamp: now(), namespace, topic, event });
      return {};
    },
    forward({ envelope }) {
      if (envelope !== undefined) exchange.forward(envelope);
      return {};
    },
    subscribe: ({ filters }, { signal }) => exchange.subscribe(filters, signal),
  };
}

function envelopeFields({ namespace, topic }: Envelope): Fields {
  return ([field]) => (field === 'namespace' ? namespace || undefined : field === 'topic' ? topic || undefined : undefined);
}
