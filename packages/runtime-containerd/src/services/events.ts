import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';

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
