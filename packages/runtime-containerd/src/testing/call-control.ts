import { status } from '@grpc/grpc-js';
import { FakeStatus } from './fake-status.js';

/** One call the fake received. */
export interface RecordedCall {
  /** As in `ContainerdError.call`, for example `tasks.create`. */
  readonly name: string;
  readonly namespace: string;
  readonly lease: string;
  /** The decoded request; undefined for a stream of requests. */
  readonly request: unknown;
}

export interface Failpoint {
  /** Default UNKNOWN. */
  readonly code?: status;
  /** Default `failpoint`. */
  readonly details?: string;
  /** How many calls fail. Default: all until removed. */
  readonly times?: number;
  /** Let this many calls pass first. Default 0. */
  readonly skip?: number;
  /** Do the call's work, then fail: an answer that is lost. Default false. Unary calls only. */
  readonly afterwards?: boolean;
  /** Which calls; default all. */
  readonly when?: (call: RecordedCall) => boolean;
}

/** Takes a failpoint, a delay or a hang away again. */
export type Remove = () => void;

interface Gate {
  readonly wait: (call: RecordedCall) => Promise<void> | undefined;
}

interface ArmedFailpoint {
  readonly options: Failpoint;
  skip: number;
  left: number;
}

/** Makes chosen calls fail, take time or hang, and keeps a record of all. Names are as in `ContainerdError.call`. */
export class CallControl {
  /** Every call in the order of arrival. */
  readonly calls: RecordedCall[] = [];
  private readonly failpoints = new Map<string, Set<ArmedFailpoint>>();
  private readonly gates = new Map<string, Set<Gate>>();
  private readonly alterations = new Map<string, (answer: unknown) => unknown>();

  /** Makes calls fail. */
  fail(name: string, options: Failpoint = {}): Remove {
    return add(this.failpoints, name, { options, skip: options.skip ?? 0, left: options.times ?? Infinity });
  }

  /** Makes calls take at least so many milliseconds. */
  delay(name: string, ms: number, when: Failpoint['when'] = () => true): Remove {
    const wait = (call: RecordedCall) =>
      when(call)
        ? new Promise<void>((resolve) => {
            setTimeout(resolve, ms).unref();
          })
        : undefined;
    return add(this.gates, name, { wait });
  }

  /** Makes calls hang until the returned function is called; then they go on, as a shim after SIGCONT. */
  hang(name: string, when: Failpoint['when'] = () => true): Remove {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const remove = add(this.gates, name, { wait: (call) => (when(call) ? released : undefined) });
    return () => {
      remove();
      release();
    };
  }

  /** Changes the answers of a unary call, whatever its type: what a broken or another containerd may say. */
  alter(name: string, change: (answer: unknown) => unknown): Remove {
    this.alterations.set(name, change);
    return () => {
      if (this.alterations.get(name) === change) this.alterations.delete(name);
    };
  }

  /** @internal */
  altered(name: string, answer: unknown): unknown {
    const change = this.alterations.get(name);
    return change === undefined ? answer : change(answer);
  }

  /** The recorded requests of one call. */
  requests(name: string): unknown[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.request);
  }

  /** @internal Runs a call's work under what is set for its name. */
  async run<T>(call: RecordedCall, work: () => T | Promise<T>): Promise<T> {
    this.calls.push(call);
    for (const gate of this.gates.get(call.name) ?? []) await gate.wait(call);
    const failpoint = this.hit(call);
    if (failpoint === undefined) return work();
    if (failpoint.afterwards === true) await work();
    throw new FakeStatus(failpoint.code ?? status.UNKNOWN, failpoint.details ?? 'failpoint');
  }

  private hit(call: RecordedCall): Failpoint | undefined {
    for (const armed of this.failpoints.get(call.name) ?? []) {
      if (armed.options.when?.(call) === false) continue;
      if (armed.skip > 0) {
        armed.skip--;
        continue;
      }
      if (armed.left <= 0) continue;
      armed.left--;
      return armed.options;
    }
    return undefined;
  }
}

function add<T>(map: Map<string, Set<T>>, name: string, item: T): Remove {
  const set = map.get(name) ?? new Set<T>();
  map.set(name, set.add(item));
  return () => {
    set.delete(item);
  };
}
