import { status, type MethodDefinition, type ServerUnaryCall, type ServerWritableStream } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { lifetime } from '../runtime/lifetime.js';
import type { CallContext } from './call-context.js';
import { toStatus, type Status } from './status.js';

export type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

/** What all calls of a method have in common. */
export interface CallKind {
  /** Without its service: `RunPodSandbox`. */
  readonly name: string;
  /** At which a call that went well is logged. */
  readonly level: 'trace' | 'debug';
}

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

export function callKind({ path }: Pick<MethodDefinition<unknown, unknown>, 'path'>): CallKind {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return { name, level: POLLED.has(name) ? 'trace' : 'debug' };
}

/** One call: its context, and what is logged of it. What it does not ask for is not made: a kubelet's and a monitor's calls come by the hundred. */
export class CallRecord implements CallContext {
  readonly deadline: number;
  private readonly began = performance.now();
  private callLog: Logger | undefined;
  private controller: AbortController | undefined;
  private answered = false;

  constructor(
    private readonly kind: CallKind,
    private readonly call: AnyCall,
    private readonly daemonLog: Logger,
  ) {
    // gRPC tells the time that is left, of which grpc-js makes a time of day.
    const deadline = call.getDeadline();
    this.deadline = deadline === Infinity ? Infinity : this.began + (deadline instanceof Date ? deadline.getTime() : deadline) - Date.now();
  }

  /** Aborts with a TimeoutError at the caller's deadline and with an AbortError when the caller cancels or disconnects before it has its answer. */
  get signal(): AbortSignal {
    if (this.controller !== undefined) return this.controller.signal;
    const controller = (this.controller = lifetime());
    if (this.call.cancelled) this.abort(controller);
    else this.call.once('cancelled', () => this.abort(controller));
    return controller.signal;
  }

  get log(): Logger {
    return (this.callLog ??= this.daemonLog.child({ call: this.kind.name, ...ids(this.call.request) }));
  }

  /** It went well. */
  end(): void {
    const { level } = this.kind;
    if (this.daemonLog.isLevelEnabled(level)) this.log[level]({ milliseconds: this.milliseconds() }, 'ok');
    this.answered = true;
  }

  /** It did not; what the caller is told. */
  fail(error: unknown): { readonly code: Status['code']; readonly details: string } {
    const { code, message } = toStatus(error);
    this.log[UNREMARKABLE.has(code) ? 'debug' : 'warn']({ code: status[code], error: message, milliseconds: this.milliseconds() }, 'failed');
    this.answered = true;
    return { code, details: message };
  }

  private abort(controller: AbortController): void {
    // gRPC says so of every call when its stream is closed; work that other calls share may still go on under this signal.
    if (this.answered) return;
    const late = performance.now() >= this.deadline - 1;
    controller.abort(
      late ? new DOMException('deadline exceeded', 'TimeoutError') : new DOMException('cancelled by the caller', 'AbortError'),
    );
  }

  private milliseconds(): number {
    return Math.round((performance.now() - this.began) * 10) / 10;
  }
}

function ids(request: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  for (const field of ID_FIELDS) {
    const value = (request as Record<string, unknown>)[field];
    if (typeof value === 'string' && value !== '') found[field] = value;
  }
  return found;
}
