import { unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PIPE_BYTES, TaskIo, type OutputReader, type TaskStreams } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition } from '../errors.js';
import { ContainerLog, DropNotice, prepareLogDirectory, STREAM_NAMES, type ContainerLogOptions, type StreamName } from '../logging/index.js';
import { pathExists } from '../runtime/path-exists.js';
import { readTextSync } from '../runtime/read-text-sync.js';
import type { ContainerRecord } from '../state/container-record.js';
import type { Layout } from '../state/layout.js';
import { Token } from '../tokens.js';
import { ContainerStdin } from './container-stdin.js';
import { OutputBroadcast } from './output-broadcast.js';
import { settledWithin } from './settled-within.js';

/** The open ends of one container's process. */
interface LiveIo {
  readonly io: TaskIo;
  readonly log: ContainerLog;
  /** "" where it keeps none. */
  readonly logPath: string;
  readonly outputs: readonly OutputReader[];
  /** To attached clients, by stream. */
  readonly broadcasts: ReadonlyMap<StreamName, OutputBroadcast>;
  /** Absent where the container has no standard input. */
  readonly stdin: ContainerStdin | undefined;
}

/** The least that one read may bring, however long the lines of a log may be. */
const LEAST_READ_BYTES = 16 * 1024;

/** What a client attaches to. */
export type AttachableIo = Pick<LiveIo, 'broadcasts' | 'stdin'>;

/** The standard streams of running containers: FIFOs on containerd's side, the CRI log on the kubelet's. */
@scoped(Lifecycle.ContainerScoped)
export class ContainerIo {
  private readonly live = new Map<string, LiveIo>();

  constructor(
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Logger) private readonly log: Logger,
  ) {}

  /** Makes the FIFOs, opens the log, which must stay below `logDirectory`, and begins to read. */
  async open(container: ContainerRecord, logDirectory: string): Promise<TaskStreams> {
    const { stdin, tty } = container.config;
    if (container.logPath !== '') await prepareLogDirectory(logDirectory, container.logPath);
    const dir = this.layout.containerIo(container.id);
    // An earlier start may have left them: its daemon was killed in the middle, or containerd could not be reached for its undo.
    await this.disconnect(container.id);
    await TaskIo.attach(dir, { stdin, terminal: tty }).remove();
    const io = await TaskIo.create(dir, { stdin, terminal: tty });
    this.connect(container, io, await ContainerLog.open(logPathOf(container), this.logOptions(container.id)), true);
    return { ...io.paths, terminal: tty };
  }

  /** Goes on reading after a restart of the daemon; what was written meanwhile waits in the FIFOs. */
  async attach(container: ContainerRecord): Promise<void> {
    const { stdin, tty } = container.config;
    const io = TaskIo.attach(this.layout.containerIo(container.id), { stdin, terminal: tty });
    const log = await ContainerLog.resume(logPathOf(container), await this.takeUnfinished(container.id), this.logOptions(container.id));
    this.connect(container, io, log, false);
  }

  /** Whether its FIFOs are there; they are not after a reboot. */
  hasFifos(containerId: string): Promise<boolean> {
    return pathExists(this.layout.containerIo(containerId));
  }

  /** Resolves when everything the process wrote stands in the log, or after `ms`. */
  async drain(containerId: string, ms: number): Promise<void> {
    const live = this.live.get(containerId);
    if (live === undefined) return;
    await settledWithin(live.outputs.map((output) => output.ended), ms);
  }

  /** Ends reading and removes the FIFOs; nothing to do for a container without any. */
  async close(containerId: string): Promise<void> {
    await this.disconnect(containerId);
    await TaskIo.attach(this.layout.containerIo(containerId), { stdin: false, terminal: false }).remove();
  }

  /** The FIFOs that are read at the moment. */
  openFifos(): string[] {
    return [...this.live.values()].flatMap(({ io }) => [io.paths.stdout, io.paths.stderr]).filter((path) => path !== '');
  }

  /** The logs that are open, each with its container. */
  openLogs(): { readonly owner: string; readonly name: string }[] {
    return [...this.live].flatMap(([owner, { logPath }]) => (logPath === '' ? [] : [{ owner, name: logPath }]));
  }

  /** Stops reading of all containers, with what was read written out; they go on and the FIFOs wait. */
  async suspend(): Promise<void> {
    await Promise.all(
      [...this.live].map(async ([id, { log }]) => {
        await this.disconnect(id);
        // Where it cannot be told, a line becomes two.
        if (log.unfinished.length > 0) await writeFile(this.unfinishedFile(id), log.unfinished.join('\n'), { mode: 0o600 }).catch(() => undefined);
      }),
    );
  }

  /** @throws FAILED_PRECONDITION when nothing of the container is open */
  attachable(containerId: string): AttachableIo {
    const live = this.live.get(containerId);
    if (live === undefined) throw failedPrecondition(`container ${containerId} does not run`);
    return live;
  }

  /** CRI ReopenContainerLog. @throws FAILED_PRECONDITION when the container keeps no log */
  async reopenLog(containerId: string): Promise<void> {
    const live = this.live.get(containerId);
    if (live === undefined) throw failedPrecondition(`container ${containerId} has no open log`);
    await live.log.reopen();
  }

  /** The streams that the last daemon left within a line, in order. Told once: a daemon that is killed later leaves them otherwise. */
  private async takeUnfinished(containerId: string): Promise<ReadonlySet<StreamName>> {
    const file = this.unfinishedFile(containerId);
    const names = readTextSync(file)?.split('\n');
    if (names === undefined) return new Set();
    await unlink(file);
    return new Set(STREAM_NAMES.filter((name) => names.includes(name)));
  }

  /** Beside the FIFOs, and goes with them. */
  private unfinishedFile(containerId: string): string {
    return join(this.layout.containerIo(containerId), 'unfinished-lines');
  }

  private logOptions(containerId: string): ContainerLogOptions {
    const drops = new DropNotice(this.log.child({ containerId }));
    return { maxLineBytes: this.config.container.maxLogLineSize, onDrop: (records, error) => drops.add(records, error) };
  }

  /** What a kill can lose of a stream is what was read of it and is not in its log: one read, and of a line that has no end yet one record. */
  private get readBytes(): number {
    return Math.max(LEAST_READ_BYTES, PIPE_BYTES - this.config.container.maxLogLineSize);
  }

  private connect(container: ContainerRecord, io: TaskIo, log: ContainerLog, expectWriter: boolean): void {
    const names: readonly StreamName[] = container.config.tty ? ['stdout'] : STREAM_NAMES;
    const outputs: OutputReader[] = [];
    const broadcasts = new Map(names.map((name) => [name, new OutputBroadcast()]));
    const stdin = container.config.stdin ? new ContainerStdin(io) : undefined;
    this.live.set(container.id, { io, log, logPath: container.logPath, outputs, broadcasts, stdin });
    for (const [name, broadcast] of broadcasts) {
      const stream = log.stream(name);
      const data = (chunk: Buffer): Promise<void> => {
        const attached = broadcast.write(chunk);
        const written = stream.write(chunk);
        return attached === undefined ? written : Promise.all([written, attached]).then(() => undefined);
      };
      const end = (error?: Error): void => {
        if (error !== undefined) this.log.warn({ containerId: container.id, stream: name, err: error.message }, 'output lost');
        broadcast.end();
        void stream.end();
      };
      outputs.push(io.openOutput(name, { data, end }, { expectWriter, readBytes: this.readBytes }));
    }
  }

  private async disconnect(containerId: string): Promise<void> {
    const live = this.live.get(containerId);
    if (live === undefined) return;
    this.live.delete(containerId);
    for (const output of live.outputs) output.close();
    live.stdin?.destroy();
    await Promise.allSettled(live.outputs.map((output) => output.ended));
    await live.log.close();
    const { droppedRecords } = live.log.stats;
    if (droppedRecords > 0) this.log.warn({ containerId, droppedRecords }, 'log records were dropped');
  }
}

/** undefined where it keeps no log. */
function logPathOf({ logPath }: ContainerRecord): string | undefined {
  return logPath === '' ? undefined : logPath;
}
