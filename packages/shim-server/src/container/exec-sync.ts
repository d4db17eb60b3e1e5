import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ExecSyncRequest, ExecSyncResponse } from '@criquet/cri-api';
import {
  decodeSpec,
  encodeProcess,
  isTaskGone,
  TaskIo,
  type Containerd,
  type OutputReader,
  type SpecProcess,
} from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { ProcessEnd } from '../runtime/process-end.js';
import type { Layout } from '../state/layout.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Rollback } from '../steps/rollback.js';
import { Steps } from '../steps/steps.js';
import { together } from '../steps/together.js';
import { Token, type Containers } from '../tokens.js';
import { CapturedOutput } from './captured-output.js';
import { TimeLimit } from './time-limit.js';

/** How long output is awaited after the process has ended: a child it left behind may hold the streams open for ever. */
const DRAIN_MS = 1_000;

/** CRI ExecSync: runs a command in a running container and answers with its output and exit code. */
@scoped(Lifecycle.ContainerScoped)
export class ExecSync {
  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ProcessEnd) private readonly processEnd: ProcessEnd,
  ) {}

  readonly handle: UnaryCall<ExecSyncRequest, ExecSyncResponse> = async (request, { signal, log }) => {
    if (request.cmd.length === 0) throw invalidArgument('cmd', 'is empty');
    if (request.timeout < 0n) throw invalidArgument('timeout', `${request.timeout} is negative`);
    const container = this.containers.require(request.containerId);
    if (container.phase !== 'running') throw failedPrecondition(`container ${container.id} does not run`);
    const execId = randomBytes(16).toString('hex');
    // Two, since the FIFOs are not needed to delete the process, and go also when that fails.
    const undo = { process: new Rollback(log), io: new Rollback(log) };
    const takeBack = () => Promise.all([undo.process.run(), undo.io.run()]);
    const limit = new TimeLimit(request.timeout, signal);
    try {
      return await this.run(container.id, execId, request.cmd, limit.signal, undo, log);
    } catch (error) {
      throw limit.passed() ? limit.error(error) : error;
    } finally {
      // Behind the answer: a hung shim, or one whose process left a child that holds the streams, takes seconds to delete it.
      void takeBack();
    }
  };

  private async run(
    containerId: string,
    execId: string,
    cmd: string[],
    signal: AbortSignal,
    undo: { readonly process: Rollback; readonly io: Rollback },
    log: Logger,
  ): Promise<ExecSyncResponse> {
    const { tasks } = this.containerd;
    const steps = new Steps('ExecSync', this.failpoints, log);
    const output = new CapturedOutput(this.config.container.execSyncOutputLimit);
    const [process, { streams, readers }] = await together(
      steps.do('read the process of the container', () => this.process(containerId, cmd, signal)),
      steps.do('open the FIFOs', () => this.openIo(containerId, execId, output, undo.io)),
    );
    await steps.do('create the exec process', async () => {
      undo.process.add('delete the exec process', (ending) => this.deleteProcess(containerId, execId, ending));
      await tasks.exec({ containerId, execId, spec: encodeProcess(process), ...streams }, { signal });
    });
    await steps.do('start the exec process', () => tasks.start(containerId, execId, { signal }));
    const exit = await steps.do('wait for the exec process', () =>
      this.processEnd.of(containerId, { execId, signal }),
    );
    await settledWithin(readers.map((reader) => reader.ended), DRAIN_MS);
    return { stdout: output.take('stdout'), stderr: output.take('stderr'), exitCode: exit.exitStatus };
  }

  /** The container's own process with another command: its user, environment, directory, capabilities. */
  private async process(containerId: string, args: string[], signal: AbortSignal): Promise<SpecProcess> {
    const record = await this.containerd.containers.get(containerId, { signal });
    const process = record.spec === undefined ? undefined : decodeSpec(record.spec).process;
    if (process === undefined) throw failedPrecondition(`container ${containerId} has no runtime spec`);
    return { ...process, args, terminal: false };
  }

  private async openIo(containerId: string, execId: string, output: CapturedOutput, rollback: Rollback) {
    const io = await TaskIo.create(this.layout.execIo(containerId, execId), { stdin: false, terminal: false });
    rollback.add('remove the FIFOs', () => io.remove());
    const readers: OutputReader[] = [];
    rollback.add('stop reading', () => {
      for (const reader of readers) reader.close();
      return Promise.resolve();
    });
    for (const name of ['stdout', 'stderr'] as const) {
      readers.push(io.openOutput(name, { data: (chunk) => output.add(name, chunk), end: () => undefined }));
    }
    return { streams: { ...io.paths, terminal: false }, readers };
  }

  /** Kills it where it still runs. */
  private async deleteProcess(containerId: string, execId: string, signal: AbortSignal): Promise<void> {
    const { tasks } = this.containerd;
    for (let ms = 10; ; ms = Math.min(ms * 2, 1_000)) {
      try {
        await tasks.deleteProcess(containerId, execId, { signal });
        return;
      } catch (error) {
        if (isTaskGone(error)) return;
        signal.throwIfAborted();
      }
      await tasks.kill(containerId, { signal: 9, execId }, { signal }).catch(() => undefined);
      await pause(ms, undefined, { signal });
    }
  }
}

async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<void> {
  const done = new AbortController();
  await Promise.race([Promise.allSettled(promises), pause(ms, undefined, { signal: done.signal }).catch(() => undefined)]);
  done.abort();
}
