import { Client, credentials, Metadata, status, type ClientOptions, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';
import type { CallOptions } from '../call-options.js';
import { ContainerdError } from '../errors.js';
import { connectionFailure } from './connection-failure.js';
import { MessageQueue } from './message-queue.js';
import { onAbort } from './on-abort.js';

/** One method of a generated service definition. */
export type Method<Request, Response> = Pick<
  MethodDefinition<Request, Response>,
  'path' | 'requestSerialize' | 'responseDeserialize'
>;

/** Told of every call; returns what is to be told of its end. */
export type CallObserver = (call: { readonly name: string; readonly namespace: string }) => ((error?: Error) => void) | void;

export interface ChannelOptions {
  /** Absolute path of the socket. */
  readonly socketPath: string;
  readonly namespace: string;
  /** Milliseconds; 0 is none. */
  readonly defaultTimeoutMs: number;
  readonly observe?: CallObserver;
}

/** An open stream both ways. */
export interface Duplex<Request, Response> {
  send(message: Request): void;
  /** No more messages follow from here. */
  end(): void;
  readonly messages: AsyncIterableIterator<Response>;
  cancel(): void;
}

/** containerd's own limit of a message (`grpc.max_recv_message_size`). */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** How much earlier than the client's a deadline may end at containerd: the rest is sent in whole milliseconds. */
const EARLY_MS = 10;

/** When a call ends at the latest, in milliseconds since the epoch. */
interface Limit {
  readonly deadline?: number;
}

/** containerd over its unix socket: the namespace and lease headers, deadlines, cancellation and errors of every call. */
export class Channel {
  private readonly client: Client;
  private readonly open = new Set<{ cancel(): void }>();

  constructor(private readonly options: ChannelOptions) {
    const channelOptions: ClientOptions = {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
      // containerd restarts within a second or two: a call soon after should find it.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.default_authority': 'localhost',
      // Closing one client must not close another's connection.
      'grpc.use_local_subchannel_pool': 1,
      // An idle channel would miss that containerd went away and came back.
      'grpc.client_idle_timeout_ms': 2_147_483_647,
      // Nobody asks for these statistics, and every call would pay for them.
      'grpc.enable_channelz': 0,
    };
    this.client = new Client(`unix://${options.socketPath}`, credentials.createInsecure(), channelOptions);
  }

  get namespace(): string {
    return this.options.namespace;
  }

  get defaultTimeoutMs(): number {
    return this.options.defaultTimeoutMs;
  }

  /** Ends the connection. Open calls end with CANCELLED. */
  close(): void {
    for (const call of this.open) call.cancel();
    this.client.close();
  }

  /** One request, one reply. `defaultTimeoutMs` replaces the client's default for a call that may take long. */
  unary<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions = {},
    defaultTimeoutMs = this.options.defaultTimeoutMs,
  ): Promise<Response> {
    const name = callName(method.path);
    if (options.signal?.aborted) return Promise.reject(cancelled(name, options.signal));
    const done = this.observe(name, options);
    const limit = deadline(options.timeoutMs ?? defaultTimeoutMs);
    return new Promise((resolve, reject) => {
      const call = this.client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        this.metadata(options),
        limit,
        (error, response) => {
          this.open.delete(call);
          detach();
          const failure = error === null ? undefined : this.callError(name, error, limit, options.signal);
          done(failure);
          if (failure !== undefined) reject(failure);
          else resolve(response as Response);
        },
      );
      const detach = onAbort(options.signal, () => call.cancel());
      this.open.add(call);
    });
  }

  /** One request, many replies. The call is on its way when this returns; stop reading to cancel it. */
  serverStream<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions = {},
  ): AsyncIterableIterator<Response> {
    const name = callName(method.path);
    if (options.signal?.aborted) return failed(cancelled(name, options.signal));
    const limit = deadline(options.timeoutMs ?? 0);
    const call = this.client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      this.metadata(options),
      limit,
    );
    return this.read(name, call, limit, options);
  }

  /** Messages both ways. */
  duplex<Request, Response>(method: Method<Request, Response>, options: CallOptions = {}): Duplex<Request, Response> {
    const name = callName(method.path);
    if (options.signal?.aborted) {
      const nothing = () => undefined;
      return { send: nothing, end: nothing, cancel: nothing, messages: failed(cancelled(name, options.signal)) };
    }
    const limit = deadline(options.timeoutMs ?? 0);
    const call = this.client.makeBidiStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      this.metadata(options),
      limit,
    );
    return {
      send: (message) => void call.write(message),
      end: () => void call.end(),
      messages: this.read(name, call, limit, options),
      cancel: () => call.cancel(),
    };
  }

  private read<Response>(
    name: string,
    call: NodeJS.EventEmitter & { pause(): unknown; resume(): unknown; cancel(): void },
    limit: Limit,
    options: CallOptions,
  ): MessageQueue<Response> {
    const done = this.observe(name, options);
    let detach: () => void = () => undefined;
    const finish = (error?: Error) => {
      this.open.delete(call);
      detach();
      done(error);
      queue.end(error);
    };
    const stopReading = () => {
      // A reader that has enough is no failure.
      done();
      call.cancel();
    };
    const queue = new MessageQueue<Response>({ pause: () => call.pause(), resume: () => call.resume() }, stopReading);
    this.open.add(call);
    call.on('data', (message: Response) => queue.push(message));
    call.on('end', () => finish());
    call.on('error', (error: ServiceError) => finish(this.callError(name, error, limit, options.signal)));
    detach = onAbort(options.signal, () => call.cancel());
    return queue;
  }

  private callError(name: string, error: ServiceError, limit: Limit, signal: AbortSignal | undefined): ContainerdError {
    if (error.code === status.CANCELLED) {
      if (signal?.aborted) return cancelled(name, signal);
      if (isOver(limit)) return new ContainerdError(status.DEADLINE_EXCEEDED, name, 'containerd ended the call at its deadline', { cause: error });
    }
    const failure = error.code === status.UNAVAILABLE ? connectionFailure(error.details, this.options.socketPath) : undefined;
    return new ContainerdError(error.code, name, failure ?? error.details, { cause: error });
  }

  private observe(name: string, options: CallOptions): (error?: Error) => void {
    const end = this.options.observe?.({ name, namespace: options.namespace ?? this.options.namespace });
    let ended = false;
    return (error) => {
      if (ended) return;
      ended = true;
      end?.(error);
    };
  }

  private metadata(options: CallOptions): Metadata {
    const metadata = new Metadata();
    metadata.set('containerd-namespace', options.namespace ?? this.options.namespace);
    if (options.lease !== undefined) metadata.set('containerd-lease', options.lease);
    return metadata;
  }
}

/** `/containerd.services.containers.v1.Containers/Get` is `containers.get`. */
function callName(path: string): string {
  const [, service = '', method = ''] = path.split('/');
  const noun = service.split('.').at(-3) ?? service;
  return `${noun}.${method.charAt(0).toLowerCase()}${method.slice(1)}`;
}

function deadline(timeoutMs: number): Limit {
  return timeoutMs > 0 ? { deadline: Date.now() + timeoutMs } : {};
}

/** containerd knows the deadline too. Where its timer is the first, it resets the stream, which reads as CANCELLED. */
function isOver({ deadline: end }: Limit): boolean {
  return end !== undefined && Date.now() > end - EARLY_MS;
}

function cancelled(name: string, signal: AbortSignal): ContainerdError {
  return new ContainerdError(status.CANCELLED, name, 'cancelled by the caller', { cause: signal.reason });
}

function failed<T>(error: Error): AsyncIterableIterator<T> {
  const nothing = () => undefined;
  const queue = new MessageQueue<T>({ pause: nothing, resume: nothing }, nothing);
  queue.end(error);
  return queue;
}
