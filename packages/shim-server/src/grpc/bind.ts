import {
  Metadata,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { once } from 'node:events';
import { resourceExhausted } from '../errors.js';
import type { StreamCall, UnaryCall } from './call-context.js';
import { callKind, CallRecord } from './call-record.js';
import { EncodedReply } from './encoded-reply.js';

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
  const kind = callKind(method);
  const serve = async (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) => {
    const record = new CallRecord(kind, call, binding.log);
    try {
      const reply = encodeReply(method, await handler(call.request, record), binding);
      record.end();
      answer(null, reply);
    } catch (error) {
      answer(record.fail(error));
    }
  };
  return (call, answer) => {
    underWay.enter();
    void serve(call, answer).finally(() => underWay.leave());
  };
}

function bindStream(
  method: MethodDefinition<unknown, unknown>,
  handler: StreamCall<unknown, unknown>,
  binding: Binding,
): handleServerStreamingCall<unknown, unknown> {
  const { underWay } = binding;
  const kind = callKind(method);
  return (call) => {
    underWay.enter();
    const record = new CallRecord(kind, call, binding.log);
    const pump = async () => {
      // A caller may wait for the headers before it counts on the stream; the first message may be long in coming.
      call.sendMetadata(new Metadata());
      for await (const response of handler(call.request, record)) {
        if (!call.write(encodeReply(method, response, binding))) await once(call, 'drain', { signal: record.signal });
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
