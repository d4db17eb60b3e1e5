import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';

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
