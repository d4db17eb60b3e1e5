import { CniError, type CniCommand, type CniErrorFields } from '../cni-error.js';

/** Default time for one operation, all plugins of the list together. The kubelet gives RunPodSandbox and StopPodSandbox two minutes. */
export const DEFAULT_OPERATION_TIMEOUT_MS = 120_000;

export interface OperationOptions {
  /** Stops the plugin that runs, with its children, and rejects with CniError `aborted`. */
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole operation. */
  readonly timeoutMs?: number;
  /** More environment for the plugins of this operation, e.g. TRACEPARENT. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** One operation on its way: what it is, and until when it may run. */
export class Operation {
  readonly signal: AbortSignal | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #end: number;

  constructor(
    readonly command: CniCommand,
    /** Empty for VERSION. */
    readonly network: string,
    options: OperationOptions,
    defaultTimeoutMs: number,
  ) {
    this.signal = options.signal;
    this.environment = options.environment ?? {};
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#end = performance.now() + this.#timeoutMs;
  }

  /** The same deadline for another command: GC deletes stale attachments first. */
  as(command: CniCommand): Operation {
    const { signal, environment } = this;
    return new Operation(command, this.network, { environment, timeoutMs: this.remainingMs(), ...(signal && { signal }) }, 0);
  }

  remainingMs(): number {
    return Math.max(0, this.#end - performance.now());
  }

  error(fields: Omit<CniErrorFields, 'command' | 'network' | 'plugin'> & { readonly plugin?: string }): CniError {
    return new CniError({ plugin: '', ...fields, command: this.command, network: this.network });
  }

  /** Throws when the caller is gone or the time is over. */
  proceed(plugin = ''): void {
    if (this.signal?.aborted === true) throw this.#aborted(plugin);
    if (this.remainingMs() === 0) throw this.#timedOut(plugin);
  }

  /** Waits for `promise`, which never rejects, but no longer than the operation may run. */
  wait(promise: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (failure?: CniError): void => {
        clearTimeout(timer);
        this.signal?.removeEventListener('abort', onAbort);
        if (failure === undefined) resolve();
        else reject(failure);
      };
      const onAbort = (): void => settle(this.#aborted(''));
      const timer = setTimeout(() => settle(this.#timedOut('')), this.remainingMs());
      this.signal?.addEventListener('abort', onAbort, { once: true });
      if (this.signal?.aborted === true) onAbort();
      void promise.then(() => settle());
    });
  }

  #aborted(plugin: string): CniError {
    return this.error({ failure: 'aborted', plugin, msg: 'stopped by its caller before it ran', cause: this.signal?.reason });
  }

  #timedOut(plugin: string): CniError {
    return this.error({ failure: 'timeout', plugin, msg: `not begun within ${Math.round(this.#timeoutMs)} ms` });
  }
}
