import { setTimeout as pause } from 'node:timers/promises';
import type { ContainerdReport } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { toStatus } from '../grpc/status.js';
import type { DaemonLock } from '../runtime/daemon-lock.js';
import { lifetime } from '../runtime/lifetime.js';
import { Token } from '../tokens.js';
import { takeCleaningLock } from './cleaning-lock.js';
import { KnownContainerd } from './known-containerd.js';
import { Leftovers } from './leftovers.js';
import { NetworkGc } from './network-gc.js';

/** setTimeout takes 31 bits. */
const LONGEST_PAUSE_MS = 2 ** 31 - 1;

/** What the daemon does beside serving: once after its start it removes what has no owner, and from then on CNI GC at intervals. */
@scoped(Lifecycle.ContainerScoped)
export class Upkeep {
  private readonly ended = lifetime();
  private running: Promise<void> | undefined;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(Leftovers) private readonly leftovers: Leftovers,
    @inject(NetworkGc) private readonly gc: NetworkGc,
    @inject(Token.ContainerdReport) private readonly report: ContainerdReport,
  ) {}

  /** Begins; nothing waits for it. */
  start(): void {
    this.running ??= this.run();
  }

  /** Breaks off what is under way. */
  async stop(): Promise<void> {
    this.ended.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.ended;
    const { gcInterval } = this.config.cni;
    if (!(await this.knowsContainerd())) return;
    await this.exclusively('clean up', async () => {
      await this.leftovers.clean(signal);
      if (gcInterval > 0) await this.gc.run(signal);
    });
    while (gcInterval > 0) {
      try {
        await pause(Math.min(gcInterval, LONGEST_PAUSE_MS), undefined, { signal, ref: false });
      } catch {
        return;
      }
      await this.exclusively('CNI GC', () => this.gc.run(signal));
    }
  }

  /** Whether what lies below `root_dir` has its records in this containerd. */
  private async knowsContainerd(): Promise<boolean> {
    try {
      if (await new KnownContainerd(this.config.rootDir).is(this.report.server.uuid)) return true;
      this.log.warn('root_dir belongs to another containerd: what has no owner in this one is left alone until `criquet audit --clean` and a restart');
    } catch (error) {
      this.log.warn({ err: toStatus(error).message }, 'which containerd root_dir belongs to cannot be written down: what has no owner is left alone');
    }
    return false;
  }

  /** Never beside another process that cleans. A failure says nothing of the daemon. */
  private async exclusively(what: string, work: () => Promise<void>): Promise<void> {
    let lock: DaemonLock | undefined;
    try {
      lock = await takeCleaningLock(this.config.stateDir);
      await work();
    } catch (error) {
      if (!this.ended.signal.aborted) this.log.warn({ err: toStatus(error).message }, `${what}: not done`);
    } finally {
      await lock?.release();
    }
  }
}
