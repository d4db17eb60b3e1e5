import { Status } from '../gen/types/task/task.js';
import type { Any } from '../gen/google/protobuf/any.js';
import { decodeProcess, decodeSpec } from '../oci/spec-any.js';
import type { RuntimeSpec, SpecProcess } from '../oci/runtime-spec.js';
import type { TaskStreams } from '../services/tasks.js';
import { nowNanos } from './clock.js';
import { FakeStreams } from './fake-streams.js';

/** What a started process does; the process lives on after it returns, until `exit` is called or a signal ends it. */
export type FakeProgram = (process: FakeProcess) => void | Promise<void>;

export interface FakeProcessInit extends TaskStreams {
  readonly namespace: string;
  readonly containerId: string;
  /** '' for the container's first process. */
  readonly execId: string;
  readonly pid: number;
  /** The container's spec. */
  readonly spec: Any;
  /** An exec's own process. */
  readonly execSpec?: Any;
}

const SIGKILL = 9;
const SIGTERM = 15;

/** One process inside the fake: what a program and a test see of it. */
export class FakeProcess {
  status: Status = Status.CREATED;
  exitStatus = 0;
  exitedAt = 0n;
  /** The last `tasks.resizePty`. */
  size: { readonly width: number; readonly height: number } | undefined;
  /** Every signal it got. */
  readonly signals: number[] = [];
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  /** Its shim went away: who waits for it is told that, and not how it ended. */
  wasLost = false;
  private streams: FakeStreams | undefined;
  private resolveEnded: () => void = () => undefined;
  private onExit: (process: FakeProcess) => void = () => undefined;
  private signalHandler: ((signal: number) => void) | undefined;

  constructor(readonly init: FakeProcessInit) {
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
  }

  get namespace(): string {
    return this.init.namespace;
  }

  get containerId(): string {
    return this.init.containerId;
  }

  get execId(): string {
    return this.init.execId;
  }

  get pid(): number {
    return this.init.pid;
  }

  get spec(): RuntimeSpec {
    return decodeSpec(this.init.spec);
  }

  get process(): SpecProcess | undefined {
    return this.init.execSpec === undefined ? this.spec.process : decodeProcess(this.init.execSpec);
  }

  get args(): readonly string[] {
    return this.process?.args ?? [];
  }

  stdout(data: string | Uint8Array): Promise<void> {
    return this.write('stdout', data);
  }

  /** With a terminal it goes to stdout. */
  stderr(data: string | Uint8Array): Promise<void> {
    return this.write(this.init.terminal ? 'stdout' : 'stderr', data);
  }

  /** Standard input to its end. */
  stdin(): AsyncIterable<Buffer> {
    return this.streams?.read() ?? noInput();
  }

  closeStdin(): void {
    this.streams?.closeStdin();
  }

  /** Replaces what signals do by default: KILL and TERM end the process, others nothing. KILL always ends it. */
  onSignal(handler: (signal: number) => void): void {
    this.signalHandler = handler;
  }

  /** Ends the process, once its output is in the FIFOs. Does nothing when it has ended. */
  exit(exitStatus: number): void {
    if (this.status === Status.STOPPED) return;
    this.status = Status.STOPPED;
    this.exitStatus = exitStatus;
    this.exitedAt = nowNanos();
    void this.streams?.close();
    this.onExit(this);
    this.resolveEnded();
  }

  /** @internal */
  started(onExit: (process: FakeProcess) => void, program: FakeProgram): void {
    this.onExit = onExit;
    this.status = Status.RUNNING;
    // The answer to Start goes out first, as it does before a real process gets far.
    setImmediate(() => {
      if (this.status !== Status.RUNNING) return;
      Promise.resolve(this)
        .then(program)
        .catch(() => this.exit(255));
    });
  }

  /** @internal */
  signal(signal: number): void {
    this.signals.push(signal);
    if (signal === SIGKILL) this.exit(128 + SIGKILL);
    else if (this.signalHandler !== undefined) this.signalHandler(signal);
    else if (signal === SIGTERM || this.status === Status.CREATED) this.exit(128 + signal);
  }

  /** @internal The shim is gone with everything it held. */
  lost(): void {
    this.wasLost = true;
    this.streams?.destroy();
    this.exit(128 + SIGKILL);
  }

  /** @internal */
  release(): void {
    void this.streams?.close();
  }

  /** @internal Opens the FIFOs. */
  async open(signal: AbortSignal): Promise<void> {
    this.streams = await FakeStreams.open(this.init, signal);
  }

  private async write(stream: 'stdout' | 'stderr', data: string | Uint8Array): Promise<void> {
    await this.streams?.write(stream, data);
  }
}

async function* noInput(): AsyncGenerator<Buffer> {}
