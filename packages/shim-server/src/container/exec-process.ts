import { setTimeout as pause } from 'node:timers/promises';
import {
  encodeProcess,
  isNotFound,
  TaskIo,
  type Containerd,
  type OutputReader,
  type OutputSink,
  type SpecProcess,
  type StdinWriter,
  type Tasks,
} from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { discardExec } from '../runtime/already-gone.js';
import { CgroupMoves } from '../runtime/cgroup-moves.js';
import { OwedWork } from '../runtime/owed-work.js';
import { ProcessEnd, type ProcessExit } from '../runtime/process-end.js';
import { Shims } from '../runtime/shims.js';
import { newExecId } from '../state/exec-id.js';
import { orAbort } from '../state/keyed-mutex.js';
import type { Layout } from '../state/layout.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { ExecStep, ExecUndoStep } from '../steps/registry.js';
import { Rollback } from '../steps/rollback.js';
import type { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token } from '../tokens.js';
import { ContainerProcesses } from './container-processes.js';

/** A probe ends sooner. */
const LISTEN_MS = 500;
/** So much later than the answer that this is on its way: what is to be taken back takes the processor from it, and from the next command's start. */
const BEHIND_MS = 10;

export interface ExecProcessRequest {
  readonly containerId: string;
  readonly cmd: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
  /** The terminal's size when it is made, in characters. */
  readonly size?: { readonly width: number; readonly height: number };
  /** Gets all output; of a terminal there is only stdout. */
  readonly sink: (name: 'stdout' | 'stderr') => OutputSink;
}

/** A command that runs in a container. */
export interface RunningExec {
  readonly execId: string;
  readonly stdin: StdinWriter | undefined;
  readonly readers: readonly OutputReader[];
  /** @throws the signal's reason when it aborts */
  exit(signal: AbortSignal): Promise<ProcessExit>;
}

/**
 * What a command leaves. The FIFOs go apart from the process: they are not needed to delete it, and go also when that fails. Their directory stays as long as
 * the process may: by its name a daemon's next start finds what is to be deleted.
 */
export class ExecUndo {
  readonly process: Rollback<ExecUndoStep>;
  readonly io: Rollback<ExecUndoStep>;
  /** Called when the process could not be deleted. */
  owe: () => void = () => undefined;
  /** Aborts when nobody waits for the command any more. */
  readonly over = new AbortController();

  constructor(call: 'Exec' | 'ExecSync', failpoints: Failpoints, log: Logger) {
    this.process = Rollback.of(call, failpoints, log);
    this.io = Rollback.of(call, failpoints, log);
  }

  /**
   * Kills the command where it still runs, and takes everything back: behind the answer. A hung shim, or one whose process left a child that holds the
   * streams, takes seconds to delete it.
   */
  async runBehind(): Promise<void> {
    await pause(BEHIND_MS);
    const [deleted] = await Promise.all([this.process.run(), this.io.run()]);
    this.over.abort('over');
    if (!deleted) this.owe();
  }
}

/** Runs commands in containers: their own process with other arguments, on FIFOs of its own. */
@scoped(Lifecycle.ContainerScoped)
export class ExecProcesses {
  constructor(
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(ContainerProcesses) private readonly containerProcesses: ContainerProcesses,
    @inject(Shims) private readonly shims: Shims,
    @inject(ProcessEnd) private readonly processEnd: ProcessEnd,
    @inject(OwedWork) private readonly owed: OwedWork,
    @inject(CgroupMoves) private readonly moves: CgroupMoves,
    @inject(Token.DaemonInstance) private readonly instance: string,
  ) {}

  /** @param undo gets what is to be taken back, also after a failure */
  async start(request: ExecProcessRequest, steps: Steps<ExecStep>, undo: ExecUndo, signal: AbortSignal): Promise<RunningExec> {
    const { containerId } = request;
    const { tasks } = this.containerd;
    this.moves.expect();
    const execId = newExecId(this.instance);
    const directory = this.layout.execIo(containerId, execId);
    const remains: Pick<Tasks, 'deleteProcess' | 'kill'> = { deleteProcess: (...call) => this.shims.deleteProcess(...call), kill: (...call) => tasks.kill(...call) };
    const fifos = { io: TaskIo.attach(directory, { stdin: request.stdin, terminal: request.tty }) };
    const discard = (ending: AbortSignal) => discardExec(remains, { containerId, execId, ...fifos }, ending);
    undo.owe = () => this.owed.owe(execId, 'delete the exec process', discard);
    const [process, io] = await together(
      steps.do('read the process of the container', () => this.process(request, signal)),
      steps.do('open the FIFOs', () => this.openIo(request, fifos, undo)),
    );
    undo.process.add('delete the exec process', discard);
    const created = steps.do('create the exec process', () => this.shims.exec({ containerId, execId, spec: encodeProcess(process), ...io.streams }, { signal }));
    // From before it starts.
    const beside = created.then(() => this.shims.exited(containerId, execId));
    const exit = this.processEnd.of(containerId, { execId, signal: undo.over.signal, listenMs: LISTEN_MS, beside });
    exit.catch(() => undefined);
    const started = steps.do('start the exec process', () => {
      const starting = this.startCreated(containerId, execId, created);
      // The caller need not wait for the start, the undo does.
      undo.process.add('wait for the start', async (ending) => {
        await orAbort(starting, ending).catch(() => undefined);
      });
      // Also where the end is told before: a command that could not be started has one too.
      return orAbort(starting, signal);
    });
    await together(created, started);
    return {
      execId,
      stdin: io.stdin,
      readers: io.readers,
      exit: (waiting) => orAbort(exit, waiting),
    };
  }

  /**
   * By containerd, and not cancelled: an OCI runtime that is killed while it starts the command may leave it running, and nobody knows its pid then. A shim that is asked itself for
   * the process has made it before containerd comes to ask it for the start; where it had not, the start is asked for again.
   */
  private async startCreated(containerId: string, execId: string, created: Promise<void>): Promise<void> {
    const { tasks } = this.containerd;
    if (!this.shims.isKnown(containerId)) await created;
    try {
      await tasks.start(containerId, execId);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await created;
      await tasks.start(containerId, execId);
    }
  }

  /** The container's own process with another command: its user, environment, directory, capabilities. */
  private async process({ containerId, cmd, tty, size }: ExecProcessRequest, signal: AbortSignal): Promise<SpecProcess> {
    const process = await this.containerProcesses.of(containerId, signal);
    const { consoleSize: _, ...rest } = process;
    return {
      ...rest,
      args: [...cmd],
      terminal: tty,
      ...(tty ? { env: withTerm(process.env ?? []) } : {}),
      ...(tty && size !== undefined ? { consoleSize: { ...size } } : {}),
    };
  }

  /** @param fifos where they will be; gets those that are made, which know themselves what is to be removed */
  private async openIo({ stdin, tty, sink }: ExecProcessRequest, fifos: { io: TaskIo }, { process, io: undo }: ExecUndo) {
    process.add('remove the directory of the FIFOs', () => fifos.io.remove());
    const io = await TaskIo.create(fifos.io.dir, { stdin, terminal: tty });
    fifos.io = io;
    undo.add('remove the FIFOs', () => io.unlink());
    const readers: OutputReader[] = [];
    undo.add('stop reading', () => {
      for (const reader of readers) reader.close();
      return Promise.resolve();
    });
    for (const name of tty ? (['stdout'] as const) : (['stdout', 'stderr'] as const)) readers.push(io.openOutput(name, sink(name)));
    const writer = stdin ? io.openStdin() : undefined;
    undo.add('close standard input', () => {
      writer?.destroy();
      return Promise.resolve();
    });
    return { streams: { ...io.paths, terminal: tty }, readers, stdin: writer };
  }
}

/** Programs on a terminal want to know which. */
function withTerm(env: readonly string[]): string[] {
  return env.some((variable) => variable.startsWith('TERM=')) ? [...env] : [...env, 'TERM=xterm'];
}
