import {
  Metadata,
  status,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { once } from 'node:events';
import { resourceExhausted } from '../errors.js';
import type { CallContext, StreamCall, UnaryCall } from './call-context.js';
import { EncodedReply } from './encoded-list.js';
import { lifetime } from '../runtime/lifetime.js';
import { toStatus } from './status.js';

type Handler<GrpcHandler> =
  GrpcHandler extends handleUnaryCall<infer Request, infer Response>
    ? UnaryCall<Request, Response>
    : GrpcHandler extends handleServerStreamingCall<infer Request, infer Response>
      ? StreamCall<Request, Response>
      : never;

/** One handler for every call of a service: a call left out does not compile. */
export type Handlers<Server> = {
  [K in keyof Server as string extends K ? never : number extends K ? never : K]: Handler<Server[K]>;
};

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** The fields by which a request names its object; nothing else of a request is ever logged. */
const ID_FIELDS = ['podSandboxId', 'containerId'] as const;

/** Calls that answer every second of a node's life: they are logged at trace level. */
const POLLED = new Set([
  'Version',
  'Status',
  'RuntimeConfig',
  'ListPodSandbox',
  'StreamPodSandboxes',
  'ListContainers',
  'StreamContainers',
  'ListImages',
  'StreamImages',
  'ImageFsInfo',
  'ListContainerStats',
  'StreamContainerStats',
  'ListPodSandboxStats',
  'StreamPodSandboxStats',
  'ListPodSandboxMetrics',
  'StreamPodSandboxMetrics',
]);

/** What a caller may run into without anything being wrong here. */
const UNREMARKABLE = new Set([status.NOT_FOUND, status.UNIMPLEMENTED, status.CANCELLED]);

/** How many calls are under way, so that a shutdown can wait for them. */
export class CallsUnderWay {
  private count = 0;
  private readonly waiters: (() => void)[] = [];

  enter(): void {
    this.count += 1;
  }

  leave(): void {
    this.count -= 1;
    if (this.count === 0) for (const wake of this.waiters.splice(0)) wake();
  }

  /** Resolves when none is under way. */
  async drained(): Promise<void> {
    if (this.count > 0) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }
}

/** What all calls are bound with. */
export interface Binding {
  readonly log: Logger;
  readonly underWay: CallsUnderWay;
  /** Bytes; a larger reply becomes RESOURCE_EXHAUSTED. */
  readonly maxReplyBytes: number;
}

/** Turns handlers into what grpc-js serves: abort signal, call log, error mapping and the limit of replies, once for all calls. */
export function bindService<Server>(
  service: ServiceDefinition,
  handlers: Handlers<Server>,
  binding: Binding,
): { readonly definition: ServiceDefinition; readonly implementation: UntypedServiceImplementation } {
  const definition: Record<string, MethodDefinition<unknown, unknown>> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(service)) {
    const handler = (handlers as Record<string, UnaryCall<unknown, unknown> | StreamCall<unknown, unknown>>)[name];
    if (handler === undefined) throw new Error(`no handler for ${method.path}`);
    definition[name] = { ...method, responseSerialize: (reply) => reply as Buffer };
    implementation[name] = method.responseStream
      ? bindStream(method, handler as StreamCall<unknown, unknown>, binding)
      : bindUnary(method, handler as UnaryCall<unknown, unknown>, binding);
  }
  return { definition, implementation };
}

/** @throws RESOURCE_EXHAUSTED for what is above the limit */
function encodeReply(method: MethodDefinition<unknown, unknown>, reply: unknown, { maxReplyBytes }: Binding): Buffer {
  const bytes = reply instanceof EncodedReply ? reply.bytes : method.responseSerialize(reply);
  if (bytes.length <= maxReplyBytes) return bytes;
  throw resourceExhausted(`a reply of ${bytes.length} bytes is too large`, 'grpc.max_message_size', maxReplyBytes);
}

function bindUnary(
  method: MethodDefinition<unknown, unknown>,
  handler: UnaryCall<unknown, unknown>,
  binding: Binding,
): handleUnaryCall<unknown, unknown> {
  const { underWay } = binding;
  return (call, answer) => {
    underWay.enter();
    const record = beginCall(method, call, binding.log);
    Promise.resolve()
      .then(() => handler(call.request, record.context))
      .then((response) => encodeReply(method, response, binding))
      .then(
        (reply) => {
          record.end();
          answer(null, reply);
        },
        (error: unknown) => answer(record.fail(error)),
      )
      .finally(() => underWay.leave());
  };
}

function bindStream(
  method: MethodDefinition<unknown, unknown>,
  handler: StreamCall<unknown, unknown>,
  binding: Binding,
): handleServerStreamingCall<unknown, unknown> {
  const { underWay } = binding;
  return (call) => {
    underWay.enter();
    const record = beginCall(method, call, binding.log);
    const pump = async () => {
      // A caller may wait for the headers before it counts on the stream; the first message may be long in coming.
      call.sendMetadata(new Metadata());
      for await (const response of handler(call.request, record.context)) {
        if (!call.write(encodeReply(method, response, binding))) await once(call, 'drain', { signal: record.context.signal });
      }
    };
    pump()
      .then(
        () => {
          record.end();
          call.end();
        },
        (error: unknown) => void call.emit('error', record.fail(error)),
      )
      .finally(() => underWay.leave());
  };
}

function beginCall(method: MethodDefinition<unknown, unknown>, call: AnyCall, log: Logger) {
  const began = performance.now();
  const name = method.path.slice(method.path.lastIndexOf('/') + 1);
  let callLog: Logger | undefined;
  let signal: AbortSignal | undefined;
  const deadline = deadlineOf(call);
  // What a call does not ask for is not made: a kubelet's and a monitor's calls come by the hundred.
  const context: CallContext = {
    deadline,
    get signal() {
      return (signal ??= callSignal(call, deadline));
    },
    get log() {
      return (callLog ??= log.child({ call: name, ...ids(call.request) }));
    },
  };
  const level = POLLED.has(name) ? 'trace' : 'debug';
  const milliseconds = () => Math.round((performance.now() - began) * 10) / 10;
  return {
    context,
    end: () => {
      if (log.isLevelEnabled(level)) context.log[level]({ milliseconds: milliseconds() }, 'ok');
    },
    fail: (error: unknown) => {
      const { code, message } = toStatus(error);
      context.log[UNREMARKABLE.has(code) ? 'debug' : 'warn'](
        { code: status[code], error: message, milliseconds: milliseconds() },
        'failed',
      );
      return { code, details: message };
    },
  };
}

/** Aborts with a TimeoutError at the caller's deadline and with an AbortError when the caller cancels or disconnects. */
function callSignal(call: AnyCall, deadline: number): AbortSignal {
  const controller = lifetime();
  const abort = () => {
    const late = performance.now() >= deadline - 1;
    controller.abort(
      late ? new DOMException('deadline exceeded', 'TimeoutError') : new DOMException('cancelled by the caller', 'AbortError'),
    );
  };
  if (call.cancelled) abort();
  else call.on('cancelled', abort);
  return controller.signal;
}

/** gRPC tells the time that is left, of which grpc-js makes a time of day. */
function deadlineOf(call: AnyCall): number {
  const deadline = call.getDeadline();
  return performance.now() + (deadline instanceof Date ? deadline.getTime() : deadline) - Date.now();
}

function ids(request: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  for (const field of ID_FIELDS) {
    const value = (request as Record<string, unknown>)[field];
    if (typeof value === 'string' && value !== '') found[field] = value;
  }
  return found;
}
