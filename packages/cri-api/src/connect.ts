import {
  Client,
  credentials,
  Metadata,
  type CallOptions,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { setMaxListeners } from 'node:events';
import { connectionFailure } from './connection-failure.js';
import { CriCallError } from './cri-call-error.js';
import type { CriCallOptions, CriClient, ImageCalls, RuntimeCalls } from './cri-client.js';
import { ImageServiceService, RuntimeServiceService, type MessageFns } from './gen/runtime/v1/api.js';
import * as messages from './gen/runtime/v1/api.js';

/** Where a CRI runtime listens. */
export interface CriConnectOptions {
  /** `unix:///run/criquet/criquet.sock`; a bare absolute path means the same. */
  readonly endpoint: string;
  /** Where the image service listens, when it is another endpoint. Default: `endpoint`. */
  readonly imageEndpoint?: string;
}

/** An open connection; close it when done. */
export interface CriConnection extends CriClient, Disposable {
  close(): void;
}

/** A CRI reply may be as large as this (the kubelet's own limit, 16 MiB). */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * Connects to a CRI endpoint. Connecting is lazy: an endpoint that nobody serves shows as UNAVAILABLE at the first call.
 *
 * @throws Error when an endpoint is not a unix socket address.
 */
export function connectCri(options: CriConnectOptions): CriConnection {
  const runtime = open(options.endpoint);
  const image =
    options.imageEndpoint === undefined || options.imageEndpoint === options.endpoint ? runtime : open(options.imageEndpoint);
  const close = () => {
    runtime.client.close();
    image.client.close();
  };
  return {
    runtime: calls<RuntimeCalls>(runtime, RuntimeServiceService),
    image: calls<ImageCalls>(image, ImageServiceService),
    close,
    [Symbol.dispose]: close,
  };
}

/** A gRPC client and where it connects to. */
interface Endpoint {
  readonly client: Client;
  readonly path: string;
}

function open(endpoint: string): Endpoint {
  const path = endpoint.startsWith('unix://') ? endpoint.slice('unix://'.length) : endpoint;
  if (!path.startsWith('/')) {
    throw new Error(`CRI endpoint ${JSON.stringify(endpoint)}: expected unix:///absolute/path.sock`);
  }
  const client = new Client(`unix://${path}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    // A unix socket has no host name; some servers insist on a valid authority.
    'grpc.default_authority': 'localhost',
    // Two clients of one endpoint do not share a channel, so that closing one leaves the other.
    'grpc.use_local_subchannel_pool': 1,
  });
  return { client, path };
}

function calls<T>(endpoint: Endpoint, service: ServiceDefinition): T {
  const entries = Object.entries(service).map(([name, method]) => [
    name,
    method.responseStream ? serverStream(endpoint, method) : unary(endpoint, method),
  ]);
  return Object.fromEntries(entries) as T;
}

function unary({ client, path }: Endpoint, method: MethodDefinition<object, object>) {
  const complete = completer(method);
  return (request: object, options: CriCallOptions = {}) =>
    new Promise<object>((resolve, reject) => {
      const call = client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        complete(request),
        new Metadata(),
        grpcOptions(options),
        (error, response) => {
          detach();
          if (error) reject(callError(method, path, error, options.signal));
          else resolve(response as object);
        },
      );
      const detach = cancelOn(options.signal, call);
    });
}

function serverStream({ client, path }: Endpoint, method: MethodDefinition<object, object>) {
  const complete = completer(method);
  return async function* (request: object, options: CriCallOptions = {}): AsyncIterable<object> {
    const call = client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      complete(request),
      new Metadata(),
      grpcOptions(options),
    );
    const detach = cancelOn(options.signal, call);
    try {
      yield* call as AsyncIterable<object>;
    } catch (error) {
      throw callError(method, path, error as ServiceError, options.signal);
    } finally {
      detach();
      call.cancel();
    }
  };
}

/** Fills in the fields a caller left out: the generated serializers want complete messages. */
function completer(method: MethodDefinition<object, object>): (request: object) => object {
  const name = `${callName(method)}Request`;
  // GetContainerEvents is the one call whose request is not named after it.
  const type = (messages as Record<string, unknown>)[name] ?? messages.GetEventsRequest;
  return (request) => (type as MessageFns<object>).fromPartial(request);
}

function callName(method: MethodDefinition<object, object>): string {
  return method.path.slice(method.path.lastIndexOf('/') + 1);
}

function grpcOptions(options: CriCallOptions): CallOptions {
  return options.timeoutMs === undefined ? {} : { deadline: Date.now() + options.timeoutMs };
}

function cancelOn(signal: AbortSignal | undefined, call: { cancel(): void }): () => void {
  if (signal === undefined) return () => undefined;
  const cancel = () => call.cancel();
  if (signal.aborted) queueMicrotask(cancel);
  // One signal may bound any number of calls at once; each takes its listener back when it ends, so that many are no leak.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

function callError(method: MethodDefinition<object, object>, path: string, error: ServiceError, signal: AbortSignal | undefined): CriCallError {
  // A signal of AbortSignal.timeout is a deadline too.
  if (error.code === status.CANCELLED && signal?.aborted === true && isTimeout(signal.reason)) {
    return new CriCallError(callName(method), status.DEADLINE_EXCEEDED, 'the time that its caller gave it ran out', { cause: error });
  }
  const failure = error.code === status.UNAVAILABLE ? connectionFailure(error.details, path) : undefined;
  const connectionFailed = failure !== undefined;
  return new CriCallError(callName(method), error.code, failure ?? error.details, { cause: error, connectionFailed });
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
