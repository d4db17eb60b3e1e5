import { setTimeout as pause } from 'node:timers/promises';
import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { toStatus } from '../grpc/status.js';
import { ignoreNotFound } from '../runtime/already-gone.js';
import { lifetime } from '../runtime/lifetime.js';
import { ProcessEnd, type ProcessExit } from '../runtime/process-end.js';
import { reachTask } from '../runtime/reach-task.js';
import type { ContainerExit, ContainerRecord } from '../state/container-record.js';
import type { Failpoints } from '../steps/failpoints.js';
import type { StepOf } from '../steps/registry.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerIo } from './container-io.js';
import { OomKills } from './oom-kills.js';

type ExitSteps = Steps<StepOf<'ContainerExit'>>;

/** How long the last output of a dead process is waited for before its container counts as exited. */
const DRAIN_MS = 2_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

interface Watched {
  /** The exit stands in the record. */
  readonly exited: Promise<void>;
  /** Task and FIFOs are gone too. */
  readonly released: Promise<void>;
}

/**
 * Waits for each running container's end, then in this order: the rest of its output into the log, the exit into the record,
 * the task away. A daemon killed between any two finds the rest to do at its next start.
 */
@scoped(Lifecycle.ContainerScoped)
export class ContainerWatch {
  private readonly watched = new Map<string, Watched>();
  /** Of which nothing is left but the record. */
  private readonly gone = new Set<string>();
  private readonly ended = lifetime();

  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Logger) private readonly log: Logger,
    @inject(ProcessEnd) private readonly processEnd: ProcessEnd,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(OomKills) private readonly oomKills: OomKills,
    @inject(Token.Failpoints) private readonly failpoints: Failpoints,
  ) {
    containers.observe((before, after) => {
      if (before !== undefined && after === undefined) this.gone.delete(before.id);
    });
  }

  /** @param listenMs how long containerd's events are all that is listened to. Default 0 */
  begin(containerId: string, listenMs = 0): void {
    const { signal } = this.ended;
    const container = this.containers.get(containerId);
    // Known already unless this is a new daemon.
    if (container !== undefined) void this.oomKills.expect(container);
    const steps = Steps.of('ContainerExit', this.failpoints, this.log.child({ containerId }));
    const exited = this.processEnd.of(containerId, { signal, onShim: true, listenMs }).then((exit) => this.recordExit(containerId, exit, steps));
    const released = exited.then(() => this.release(containerId, steps));
    exited.catch(() => undefined);
    released
      .catch((error: unknown) => {
        if (!signal.aborted) this.log.error({ containerId, err: toStatus(error).message }, 'exit not handled');
      })
      .finally(() => this.watched.delete(containerId));
    this.watched.set(containerId, { exited, released });
  }

  /** Resolves when the container's exit is recorded; at once for one that is not watched. */
  async exited(containerId: string): Promise<void> {
    await this.watched.get(containerId)?.exited;
  }

  /** Resolves when nothing of the container's process is left. */
  async released(containerId: string): Promise<void> {
    await this.watched.get(containerId)?.released;
  }

  /** Whether task, cgroup and FIFOs are known to be gone; a daemon that did not see the end does not know. */
  isReleased(containerId: string): boolean {
    return this.gone.has(containerId);
  }

  stop(): void {
    this.ended.abort();
  }

  private async recordExit(containerId: string, exit: ProcessExit, steps: ExitSteps): Promise<void> {
    const container = this.containers.get(containerId);
    if (container === undefined) return;
    const oomKilled = await this.oomKills.happened(container);
    await steps.do('read the rest of the output', () => this.io.drain(containerId, DRAIN_MS));
    // The start is timed when containerd has answered; what ended before that did not end before it started.
    const finishedAt = exit.exitedAt > container.startedAt ? exit.exitedAt : container.startedAt;
    const recorded: ContainerExit = { ...explain(exit, oomKilled), finishedAt };
    const exited = (record: ContainerRecord) => ({ ...record, phase: 'exited' as const, pid: 0, exit: recorded });
    // A record that somebody else removed from containerd is shown as exited and can be removed all the same.
    await this.persistently(containerId, 'record the exit', () =>
      steps.do('record the exit', () => this.containers.update(containerId, exited).catch(ignoreNotFound)),
    );
    this.log.debug({ containerId, exitCode: recorded.code, reason: recorded.reason }, 'container exited');
  }

  private async release(containerId: string, steps: ExitSteps): Promise<void> {
    let deleted = false;
    const remove = async (): Promise<void> => {
      await this.containerd.tasks.delete(containerId);
      deleted = true;
    };
    await this.persistently(containerId, 'delete the task', () => steps.do('delete the task', () => reachTask(this.containerd, containerId, remove)));
    this.oomKills.forget(this.containers.get(containerId), containerId);
    await steps.do('remove the FIFOs', () => this.io.close(containerId));
    // Of a task that was gone already nobody knows whether an OCI runtime has cleaned up after it.
    if (deleted && this.containers.get(containerId) !== undefined) this.gone.add(containerId);
  }

  /** Tries again with growing pauses until it works, the container is gone, or the daemon stops. */
  private async persistently(containerId: string, what: string, deed: () => Promise<unknown>): Promise<void> {
    for (let ms = FIRST_PAUSE_MS; this.containers.get(containerId) !== undefined; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      try {
        await deed();
        return;
      } catch (error) {
        this.log.warn({ containerId, err: toStatus(error).message, nextMs: ms }, `could not ${what}; trying again`);
        await pause(ms, undefined, { signal: this.ended.signal });
      }
    }
  }
}

function explain(exit: ProcessExit, oomKilled: boolean): Pick<ContainerExit, 'code' | 'reason' | 'message'> {
  if (!exit.known) return { code: 255, reason: 'Unknown', message: 'the runtime lost the container and its exit code' };
  if (exit.exitStatus === 137 && oomKilled) return { code: 137, reason: 'OOMKilled', message: '' };
  return { code: exit.exitStatus, reason: exit.exitStatus === 0 ? 'Completed' : 'Error', message: '' };
}
