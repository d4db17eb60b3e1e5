import {
  status,
  type Metadata,
  type sendUnaryData,
  type Server,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedHandleCall,
} from '@grpc/grpc-js';
import { MessageQueue } from '../grpc/message-queue.js';
import type { CallControl, RecordedCall } from './call-control.js';
import { FakeStatus, failedPrecondition } from './fake-status.js';

/** What a handler knows of its call beside the request. */
export interface FakeCall {
  readonly namespace: string;
  /** '' without the header. */
  readonly lease: string;
  /** Aborted when the client cancels or goes away. */
  readonly signal: AbortSignal;
}

type RequestOf<M> = M extends { requestDeserialize: (value: Buffer) => infer R } ? R : never;
type ResponseOf<M> = M extends { responseDeserialize: (value: Buffer) => infer R } ? R : never;

type Handler<M> = M extends { requestStream: true }
  ? (messages: AsyncIterableIterator<RequestOf<M>>, send: (message: ResponseOf<M>) => void, call: FakeCall) => Promise<void>
  : M extends { responseStream: true }
    ? (request: RequestOf<M>, call: FakeCall) => AsyncIterable<ResponseOf<M>>
    : (request: RequestOf<M>, call: FakeCall) => ResponseOf<M> | Promise<ResponseOf<M>>;

/** One handler a method of a generated service definition. */
export type Handlers<S> = { readonly [K in keyof S]: Handler<S[K]> };

type Unary = (request: unknown, call: FakeCall) => unknown;
type ServerStream = (request: unknown, call: FakeCall) => AsyncIterable<unknown>;
type Duplex = (messages: AsyncIterableIterator<unknown>, send: (message: unknown) => void, call: FakeCall) => Promise<void>;

interface WireCall extends NodeJS.EventEmitter {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
}

/** Services whose calls need no namespace. */
const WITHOUT_NAMESPACE = new Set(['version', 'introspection', 'namespaces', 'events', 'streaming']);

/** Adds a service to the server. `prefix` is the service's name in call names, for example `tasks`. */
export function serve<S extends ServiceDefinition>(server: Server, control: CallControl, prefix: string, definition: S, handlers: Handlers<S>): void {
  const implementation: Record<string, UntypedHandleCall> = {};
  for (const [key, method] of Object.entries(definition)) {
    const handler = handlers[key as keyof S] as Unary | ServerStream | Duplex;
    const last = method.path.slice(method.path.lastIndexOf('/') + 1);
    const name = `${prefix}.${last.charAt(0).toLowerCase()}${last.slice(1)}`;
    const context = (wire: WireCall, request: unknown) => contextOf(name, prefix, wire, request);
    if (method.requestStream) {
      implementation[key] = (wire: ServerDuplexStream<unknown, unknown>) => {
        void stream(control, context(wire, undefined), wire, (call) => (handler as Duplex)(incoming(wire), (m) => void wire.write(m), call));
      };
    } else if (method.responseStream) {
      implementation[key] = (wire: ServerWritableStream<unknown, unknown>) => {
        void stream(control, context(wire, wire.request), wire, async (call) => {
          for await (const message of (handler as ServerStream)(wire.request, call)) {
            if (call.signal.aborted) return;
            if (!wire.write(message)) await drained(wire, call.signal);
          }
        });
      };
    } else {
      implementation[key] = (wire: ServerUnaryCall<unknown, unknown>, reply: sendUnaryData<unknown>) => {
        const { recorded, call } = context(wire, wire.request);
        control
          .run(recorded, () => (handler as Unary)(wire.request, checked(prefix, call)))
          .then((response) => reply(null, control.altered(name, response)), (error: unknown) => reply(statusOf(error)));
      };
    }
  }
  server.addService(definition, implementation);
}

function contextOf(name: string, prefix: string, wire: WireCall, request: unknown): { recorded: RecordedCall; call: FakeCall } {
  const header = (key: string) => String(wire.metadata.get(key)[0] ?? '');
  const abort = new AbortController();
  wire.on('cancelled', () => abort.abort());
  const namespace = header('containerd-namespace');
  const lease = header('containerd-lease');
  return { recorded: { name, namespace, lease, request }, call: { namespace, lease, signal: abort.signal } };
}

function checked(prefix: string, call: FakeCall): FakeCall {
  if (call.namespace === '' && !WITHOUT_NAMESPACE.has(prefix)) throw failedPrecondition('namespace is required');
  return call;
}

async function stream(
  control: CallControl,
  { recorded, call }: { recorded: RecordedCall; call: FakeCall },
  wire: ServerWritableStream<unknown, unknown> | ServerDuplexStream<unknown, unknown>,
  work: (call: FakeCall) => Promise<void>,
): Promise<void> {
  try {
    const prefix = recorded.name.slice(0, recorded.name.indexOf('.'));
    await control.run(recorded, () => work(checked(prefix, call)));
    wire.end();
  } catch (error) {
    // The server's way to end a stream with a status; `destroy` would send none.
    wire.emit('error', Object.assign(new Error('fake containerd'), statusOf(error)));
  }
}

function incoming(wire: ServerDuplexStream<unknown, unknown>): AsyncIterableIterator<unknown> {
  const queue = new MessageQueue<unknown>({ pause: () => wire.pause(), resume: () => wire.resume() }, () => undefined);
  wire.on('data', (message: unknown) => queue.push(message));
  wire.on('end', () => queue.end());
  wire.on('cancelled', () => queue.end());
  wire.on('error', () => queue.end());
  return queue;
}

async function drained(wire: NodeJS.EventEmitter, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    wire.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function statusOf(error: unknown): { code: status; details: string } {
  if (error instanceof FakeStatus) return { code: error.code, details: error.details };
  return { code: status.INTERNAL, details: `fake containerd: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}` };
}
