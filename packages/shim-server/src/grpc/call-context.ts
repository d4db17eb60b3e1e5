import type { Logger } from 'pino';
import type { EncodedReply } from './encoded-reply.js';

/** What comes with every CRI call besides its request. */
export interface CallContext {
  /** Aborted when the caller cancels, goes away, or its deadline passes, all before it has its answer. */
  readonly signal: AbortSignal;
  /** The caller's deadline by `performance.now()`, in milliseconds; Infinity when it set none. */
  readonly deadline: number;
  /** A child logger that carries the call's name and ids. */
  readonly log: Logger;
}

/** A CRI call that answers once. */
export type UnaryCall<Request, Response> = (request: Request, context: CallContext) => Promise<Response | EncodedReply>;

/** A CRI call that answers with a stream. */
export type StreamCall<Request, Response> = (request: Request, context: CallContext) => AsyncIterable<Response>;
