import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { EventsService } from '../gen/services/events/v1/events.js';
import { fromWireAny, toWireAny } from '../grpc/any.js';
import type { Envelope as WireEnvelope } from '../gen/types/event.js';
import type { Channel } from '../grpc/channel.js';
import { fromNanos, toNanos } from '../grpc/timestamp.js';

/** The events service (containerd.services.events.v1). */
export interface Events {
  /**
   * Events from now on, of all namespaces unless a filter says otherwise (`namespace==k8s.io`, `topic~=^/tasks/`; several
   * are alternatives). Ends with ContainerdError UNAVAILABLE when containerd goes away: subscribe again, then
   * compare the state, since events in between are lost. There is no sign of when the subscription is in force: an event that
   * happens within the same millisecond may be missed.
   */
  subscribe(filters?: readonly string[], options?: CallOptions): AsyncIterable<Envelope>;
  /** Sends an event in the client's namespace. */
  publish(topic: string, event: Any, options?: CallOptions): Promise<void>;
  /** Sends an event on behalf of another namespace. */
  forward(envelope: Envelope, options?: CallOptions): Promise<void>;
}

export interface Envelope {
  /** Nanoseconds since 1970. */
  readonly timestamp: bigint;
  readonly namespace: string;
  /** For example `/tasks/exit`. */
  readonly topic: string;
  readonly event: Any;
}

export function eventsService(channel: Channel): Events {
  return {
    subscribe(filters = [], options) {
      // The call is sent now, not at the first read, so that what happens meanwhile is kept.
      return envelopes(channel.serverStream(EventsService.subscribe, { filters: [...filters] }, options));
    },
    async publish(topic, event, options) {
      await channel.unary(EventsService.publish, { topic, event: toWireAny(event) }, options);
    },
    async forward({ timestamp, namespace, topic, event }, options) {
      const envelope = { timestamp: fromNanos(timestamp), namespace, topic, event: toWireAny(event) };
      await channel.unary(EventsService.forward, { envelope }, options);
    },
  };
}

async function* envelopes(messages: AsyncIterable<WireEnvelope>): AsyncGenerator<Envelope> {
  for await (const { timestamp, namespace, topic, event } of messages) {
    yield { timestamp: toNanos(timestamp), namespace, topic, event: fromWireAny(event ?? { typeUrl: '', value: Buffer.alloc(0) }) };
  }
}
