import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import type { CommandStreams, ExecTarget } from '../streaming/index.js';
import { Token, type Containers } from '../tokens.js';
import { ExecProcesses, ExecUndo } from './exec-process.js';
import { ExecQuota } from './exec-quota.js';
import { OutputDrain } from './output-drain.js';
import { feedStdin } from './feed-stdin.js';
import { followSizes } from './follow-sizes.js';

/** How long the streams must be at rest after the end of a command that left a child behind. */
const DRAIN_MS = 500;
/** Clients send their terminal's size right after they have connected. */
const FIRST_SIZE_MS = 100;
const SIGHUP = 1;
const SIGPIPE = 13;

/**
 * Runs a command for a streaming client.
 *
 * When the client goes away the command is not killed: its standard input ends, and then it meets what it would meet in a shell. On a
 * terminal it is hung up (SIGHUP); elsewhere the first output that nobody takes brings SIGPIPE. What survives that runs to its end.
 */
@scoped(Lifecycle.ContainerScoped)
export class ExecStream {
  constructor(
    @inject(Token.Logger) private readonly logger: Logger,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
    @inject(ExecProcesses) private readonly processes: ExecProcesses,
    @inject(ExecQuota) private readonly quota: ExecQuota,
  ) {}

  /** @returns the exit code, when the output was handed over */
  async run(target: ExecTarget, streams: CommandStreams, gone: AbortSignal): Promise<number> {
    const { containerId, tty } = target;
    const container = this.containers.require(containerId);
    if (container.phase !== 'running') throw failedPrecondition(`container ${containerId} does not run`);
    const release = this.quota.take(containerId);
    const log = this.logger.child({ call: 'Exec', containerId });
    const undo = new ExecUndo('Exec', this.failpoints, log);
    try {
      return await this.runToEnd(target, streams, tty ? await streams.sizes.next(FIRST_SIZE_MS) : undefined, undo, gone, log);
    } finally {
      // A hung shim does not hold up the client's answer.
      void undo.runBehind().finally(release);
    }
  }

  private async runToEnd(
    { containerId, cmd, tty, stdin }: ExecTarget,
    streams: CommandStreams,
    size: { readonly width: number; readonly height: number } | undefined,
    undo: ExecUndo,
    gone: AbortSignal,
    log: Logger,
  ): Promise<number> {
    const { tasks } = this.containerd;
    const steps = Steps.of('Exec', this.failpoints, log);
    const command: { execId?: string } = {};
    let signalled = false;
    const tell = (signal: number) => {
      const { execId } = command;
      if (execId === undefined || signalled) return;
      signalled = true;
      // It may have ended meanwhile.
      tasks.kill(containerId, { signal, execId }).catch(() => undefined);
    };
    const drain = new OutputDrain(() => tell(tty ? SIGHUP : SIGPIPE));
    const sink = (name: 'stdout' | 'stderr') => drain.sink(streams[name]);
    const exec = await this.processes.start({ containerId, cmd, stdin, tty, sink, ...(size === undefined ? {} : { size }) }, steps, undo, gone);
    const { execId } = exec;
    command.execId = execId;
    const ended = new AbortController();
    const hangUp = () => {
      if (tty) tell(SIGHUP);
    };
    gone.addEventListener('abort', hangUp);
    if (gone.aborted) hangUp();
    try {
      if (streams.stdin !== undefined) {
        void feedStdin(streams.stdin, exec.stdin, () => tasks.closeIo(containerId, execId, { signal: ended.signal }));
      }
      if (tty) void followSizes(streams.sizes, ended.signal, (next) => tasks.resizePty(containerId, { ...next, execId }, { signal: ended.signal }));
      const exit = await steps.do('wait for the exec process', () => exec.exit(ended.signal));
      exec.stdin?.destroy();
      await drain.settled(exec.readers, DRAIN_MS, gone);
      return exit.exitStatus;
    } finally {
      gone.removeEventListener('abort', hangUp);
      ended.abort('over');
    }
  }
}
