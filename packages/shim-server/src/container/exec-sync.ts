import type { ExecSyncRequest, ExecSyncResponse } from '@criquet/cri-api';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { UnaryCall } from '../grpc/call-context.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { CapturedOutput, OutputMemory } from './captured-output.js';
import { ExecProcesses, ExecUndo } from './exec-process.js';
import { ExecQuota } from './exec-quota.js';
import { settledWithin } from './settled-within.js';
import { TimeLimit } from './time-limit.js';

/** How long output is awaited after the process has ended: a child it left behind may hold the streams open for ever. */
const DRAIN_MS = 1_000;

/** CRI ExecSync: runs a command in a running container and answers with its output and exit code. */
@scoped(Lifecycle.ContainerScoped)
export class ExecSync {
  private readonly memory: OutputMemory;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ExecProcesses) private readonly processes: ExecProcesses,
    @inject(ExecQuota) private readonly quota: ExecQuota,
  ) {
    this.memory = new OutputMemory(config.container.execSyncOutputTotal);
  }

  readonly handle: UnaryCall<ExecSyncRequest, ExecSyncResponse> = async (request, { signal, log }) => {
    if (request.cmd.length === 0) throw invalidArgument('cmd', 'is empty');
    if (request.timeout < 0n) throw invalidArgument('timeout', `${request.timeout} is negative`);
    const container = this.containers.require(request.containerId);
    if (container.phase !== 'running') throw failedPrecondition(`container ${container.id} does not run`);
    const release = this.quota.take(container.id);
    const undo = new ExecUndo('ExecSync', this.failpoints, log);
    const output = new CapturedOutput(this.config.container.execSyncOutputLimit, this.memory);
    try {
      return await this.run(container.id, request, output, signal, undo, log);
    } finally {
      output.drop();
      void undo.runBehind().finally(release);
    }
  };

  private async run(containerId: string, { cmd, timeout }: ExecSyncRequest, output: CapturedOutput, signal: AbortSignal, undo: ExecUndo, log: Logger): Promise<ExecSyncResponse> {
    const steps = Steps.of('ExecSync', this.failpoints, log);
    const sink = (name: 'stdout' | 'stderr') => ({ data: (chunk: Buffer) => output.add(name, chunk), end: () => undefined });
    const exec = await this.processes.start({ containerId, cmd, stdin: false, tty: false, sink }, steps, undo, signal);
    // It is the command that has this time, not the shim that starts it: a probe does not fail because its node is busy.
    const limit = new TimeLimit(timeout, signal);
    const exit = await steps
      .do('wait for the exec process', () => exec.exit(limit.signal))
      .catch((error: unknown) => {
        throw limit.passed() ? limit.error(error) : error;
      })
      .finally(() => limit.clear());
    await settledWithin(exec.readers.map((reader) => reader.ended), DRAIN_MS);
    return { stdout: output.take('stdout'), stderr: output.take('stderr'), exitCode: exit.exitStatus };
  }
}
