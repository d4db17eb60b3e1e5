import type { CriCallOptions, CriClient, ImageCalls, RuntimeCalls } from '@criquet/cri-api';
import { setMaxListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import type { StepName, SyncEventListener } from './events.js';
import type { SyncError } from './sync-result.js';

/** The kubelet's runtimeRequestTimeout: the deadline of calls that have no longer one of their own. */
export const CALL_TIMEOUT_MS = 120_000;

/** The calls of SyncPod. */
export type RuntimeCallName =
  | 'version'
  | 'listPodSandbox'
  | 'podSandboxStatus'
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'listContainers'
  | 'containerStatus'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'execSync';
export type ImageCallName = 'imageStatus' | 'pullImage';
/** A call as CRI names it: `RunPodSandbox`. */
export type CriCallName = Capitalize<RuntimeCallName | ImageCallName>;

type Request<F> = F extends (request: infer R, options?: CriCallOptions) => unknown ? R : never;
type Response<F> = F extends (...args: never[]) => Promise<infer R> ? R : never;

/** In which pass and step a call is made, and what may cancel it. */
export interface CallContext {
  readonly pass: number;
  readonly step: StepName;
  readonly signal: AbortSignal | undefined;
}

/** Makes CRI calls with a deadline and reports each with its time and outcome. */
export class CriCalls {
  constructor(
    private readonly cri: CriClient,
    private readonly listener: SyncEventListener,
    readonly context: CallContext,
  ) {
    // A caller may bound any number of pods, each with its calls and pauses, by one signal; every one of them takes its listener
    // back when it ends, so that many are no leak.
    if (context.signal !== undefined) setMaxListeners(0, context.signal);
  }

  /** The same for another step. */
  in(context: Partial<CallContext>): CriCalls {
    return new CriCalls(this.cri, this.listener, { ...this.context, ...context });
  }

  get signal(): AbortSignal | undefined {
    return this.context.signal;
  }

  report(event: { readonly type: 'step'; readonly detail: string } | { readonly type: 'plan'; readonly idle: boolean }): void {
    const { pass, step } = this.context;
    this.listener(event.type === 'step' ? { ...event, pass, step } : { ...event, pass });
  }

  reportFailure(error: SyncError): void {
    const { pass, step } = this.context;
    this.listener({ type: 'failure', pass, step, error });
  }

  reportWaiting(container: string, reason: string, retryInMs: number): void {
    this.listener({ type: 'waiting', pass: this.context.pass, container, reason, retryInMs });
  }

  /** @param timeoutMs `null` for no deadline: a pull ends by the runtime's own progress limit. */
  runtime<N extends RuntimeCallName>(
    name: N,
    target: string,
    request: Request<RuntimeCalls[N]>,
    timeoutMs: number | null = CALL_TIMEOUT_MS,
  ): Promise<Response<RuntimeCalls[N]>> {
    const call = this.cri.runtime[name] as (r: unknown, o: CriCallOptions) => Promise<Response<RuntimeCalls[N]>>;
    return this.timed(name, target, () => call(request, this.options(timeoutMs)));
  }

  image<N extends ImageCallName>(
    name: N,
    target: string,
    request: Request<ImageCalls[N]>,
    timeoutMs: number | null = CALL_TIMEOUT_MS,
  ): Promise<Response<ImageCalls[N]>> {
    const call = this.cri.image[name] as (r: unknown, o: CriCallOptions) => Promise<Response<ImageCalls[N]>>;
    return this.timed(name, target, () => call(request, this.options(timeoutMs)));
  }

  private options(timeoutMs: number | null): CriCallOptions {
    const { signal } = this.context;
    return { ...(timeoutMs === null ? {} : { timeoutMs }), ...(signal === undefined ? {} : { signal }) };
  }

  private async timed<T>(name: RuntimeCallName | ImageCallName, target: string, call: () => Promise<T>): Promise<T> {
    this.context.signal?.throwIfAborted();
    const begin = performance.now();
    const { pass, step } = this.context;
    const event = { type: 'call' as const, pass, step, call: criName(name), target };
    try {
      const result = await call();
      this.listener({ ...event, durationMs: performance.now() - begin });
      return result;
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      this.listener({ ...event, durationMs: performance.now() - begin, error: failure });
      throw failure;
    }
  }
}

function criName(name: RuntimeCallName | ImageCallName): CriCallName {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}` as CriCallName;
}
