/** What every call takes. */
export interface CallOptions {
  /** Cancels the call on the wire; the call then fails with CANCELLED. */
  readonly signal?: AbortSignal;
  /** Milliseconds until DEADLINE_EXCEEDED. Default: the client's `defaultTimeoutMs`; 0 is no limit. Streams have none by default. */
  readonly timeoutMs?: number;
  /** The lease that holds what the call creates (header `containerd-lease`). */
  readonly lease?: string;
  /** Another namespace than the client's. */
  readonly namespace?: string;
}
