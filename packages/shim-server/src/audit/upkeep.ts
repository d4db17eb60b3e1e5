import { setTimeout as pause } from 'node:timers/promises';
import type { ContainerdReport } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { toStatus } from '../grpc/status.js';
import { LockTaken, type DaemonLock } from '../runtime/daemon-lock.js';
import { EventStream } from '../runtime/event-stream.js';
import { lifetime } from '../runtime/lifetime.js';
import { Token } from '../tokens.js';
import { takeCleaningLock } from './cleaning-lock.js';
import { KnownContainerd } from './known-containerd.js';
import { Leftovers } from './leftovers.js';
import { NetworkGc } from './network-gc.js';

/** setTimeout takes 31 bits. */
const LONGEST_PAUSE_MS = 2 ** 31 - 1;
/** How long another process may clean, and how often that is looked at. */
const OTHERS_MS = 60_000;
const LOOK_MS = 200;
/** What containerd had begun when it died is there by then, and what is taken back is gone. */
const AFTER_OUTAGE_MS = 5_000;

/**
 * What the daemon does beside serving: after its start, and when containerd is back after an absence, it removes what has no owner, and from the start on CNI GC
 * at intervals. A containerd that dies while it starts a shim leaves a shim that nobody knows of.
 */
@scoped(Lifecycle.ContainerScoped)
export class Upkeep {
  private readonly ended = lifetime();
  private running: Promise<void> | undefined;

  constructor(
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(Leftovers) private readonly leftovers: Leftovers,
    @inject(NetworkGc) private readonly gc: NetworkGc,
    @inject(EventStream) private readonly events: EventStream,
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
    let outage = new AbortController();
    this.events.on('returned', () => outage.abort());
    await this.exclusively('clean up', async () => {
      await this.leftovers.clean(signal);
      if (gcInterval > 0) await this.gc.run(signal);
    });
    for (let next = nextGc(gcInterval); ; ) {
      await pauseUntil(next, AbortSignal.any([signal, outage.signal]));
      if (signal.aborted) return;
      if (outage.signal.aborted) {
        await pauseUntil(performance.now() + AFTER_OUTAGE_MS, signal);
        outage = new AbortController();
        await this.exclusively('clean up', () => this.leftovers.clean(signal));
      } else if (performance.now() >= next) {
        await this.exclusively('CNI GC', () => this.gc.run(signal));
        next = nextGc(gcInterval);
      }
    }
  }

  /** Whether what lies below `root_dir` has its records in this containerd. */
  private async knowsContainerd(): Promise<boolean> {
    try {
      if (await new KnownContainerd(this.config.rootDir).is(this.report.server.uuid)) return true;
      this.log.warn('root_dir belongs to another containerd: what has no owner in this one is left alone until `criquet audit --clean --new-containerd` and a restart');
    } catch (error) {
      this.log.warn({ err: toStatus(error).message }, 'which containerd root_dir belongs to cannot be written down: what has no owner is left alone');
    }
    return false;
  }

  private async cleaningLock(): Promise<DaemonLock> {
    for (const late = performance.now() + OTHERS_MS; ; ) {
      try {
        return await takeCleaningLock(this.config.stateDir);
      } catch (error) {
        if (!(error instanceof LockTaken) || performance.now() > late) throw error;
      }
      await pause(LOOK_MS, undefined, { signal: this.ended.signal, ref: false });
    }
  }

  /** Not beside another process that cleans, but after it. A failure says nothing of the daemon. */
  private async exclusively(what: string, work: () => Promise<void>): Promise<void> {
    let lock: DaemonLock | undefined;
    try {
      lock = await this.cleaningLock();
      await work();
    } catch (error) {
      if (!this.ended.signal.aborted) this.log.warn({ err: toStatus(error).message }, `${what}: not done`);
    } finally {
      await lock?.release();
    }
  }
}

/** By `performance.now()`; never without an interval. */
function nextGc(interval: number): number {
  return interval > 0 ? performance.now() + interval : Infinity;
}

/** Returns early when the signal aborts, and after the longest pause that there is. */
async function pauseUntil(time: number, signal: AbortSignal): Promise<void> {
  const ms = Math.max(0, Math.min(time - performance.now(), LONGEST_PAUSE_MS));
  await pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
