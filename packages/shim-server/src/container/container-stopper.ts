import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { Containerd } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { ShimError } from '../errors.js';
import { reachTask } from '../runtime/reach-task.js';
import { orAbort } from '../state/keyed-mutex.js';
import type { ContainerRecord } from '../state/container-record.js';
import type { EndStep, StepOf } from '../steps/registry.js';
import type { Steps } from '../steps/steps.js';
import { Token, type Containers } from '../tokens.js';
import { ContainerLocks } from './container-locks.js';
import { ContainerWatch } from './container-watch.js';

const SIGKILL = 9;

/** Asks a container to end. */
type Ask = (container: ContainerRecord) => Promise<void>;

/** A stop under way; every caller that comes meanwhile shares it. */
interface Stop {
  /** When SIGKILL is due, by `performance.now()`, which no clock that is set moves: the earliest that any caller asked for. */
  killAt: number;
  /** Wakes the stop when `killAt` moved. */
  hurry: AbortController;
  readonly done: Promise<void>;
}

/**
 * Ends containers: the stop signal once, then SIGKILL at the earliest deadline that any caller gave. A stop goes on when its
 * caller goes away.
 */
@scoped(Lifecycle.ContainerScoped)
export class ContainerStopper {
  private readonly stops = new Map<string, Stop>();

  constructor(
    @inject(Token.Containers) private readonly containers: Containers,
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(ContainerLocks) private readonly locks: ContainerLocks,
    @inject(ContainerWatch) private readonly watch: ContainerWatch,
  ) {}

  /**
   * Resolves when the container's exit is recorded; at once for one that does not run.
   *
   * @param graceMs milliseconds between the stop signal and SIGKILL; 0 kills at once.
   */
  async stop(containerId: string, graceMs: number, steps: Steps<StepOf<'StopContainer'>>, signal?: AbortSignal): Promise<void> {
    const ask = (container: ContainerRecord) => steps.do('send the stop signal', () => this.signal(container, container.stopSignal, false));
    await this.end(containerId, graceMs, ask, steps, signal);
  }

  /** {@link stop} without grace. */
  async kill(containerId: string, steps: Steps<EndStep>, signal?: AbortSignal): Promise<void> {
    await this.end(containerId, 0, () => Promise.resolve(), steps, signal);
  }

  private async end(containerId: string, graceMs: number, ask: Ask, steps: Steps<EndStep>, signal?: AbortSignal): Promise<void> {
    // A start under way decides first whether there is something to stop.
    await this.locks.run(containerId, signal, () => Promise.resolve());
    const container = this.containers.get(containerId);
    if (container?.phase !== 'running') return;
    const killAt = performance.now() + graceMs;
    let stop = this.stops.get(containerId);
    if (stop === undefined) stop = this.begin(container, killAt, ask, steps);
    else if (killAt < stop.killAt) {
      stop.killAt = killAt;
      stop.hurry.abort('sooner');
    }
    await orAbort(stop.done, signal);
  }

  private begin(container: ContainerRecord, killAt: number, ask: Ask, steps: Steps<EndStep>): Stop {
    const stop: Stop = {
      killAt,
      hurry: new AbortController(),
      done: Promise.resolve().then(() => this.run(container, stop, ask, steps)),
    };
    this.stops.set(container.id, stop);
    stop.done.catch(() => undefined).finally(() => this.stops.delete(container.id));
    return stop;
  }

  private async run(container: ContainerRecord, stop: Stop, ask: Ask, steps: Steps<EndStep>): Promise<void> {
    const exited = this.watch.exited(container.id);
    // When a signal is refused nobody waits for the exit any more.
    exited.catch(() => undefined);
    if (stop.killAt > performance.now()) {
      const asked = ask(container);
      // A refused signal fails the stop; one that was taken, or that a hung shim has not answered, does not hold up the kill.
      const refused = asked.then(() => exited);
      await Promise.race([refused, exited, this.killTime(stop)]);
    }
    if (this.containers.get(container.id)?.phase !== 'running') return;
    await steps.do('kill the container', () => this.signal(container, SIGKILL, true));
    await steps.do('wait for its end', async () => {
      const late = new AbortController();
      try {
        await Promise.race([exited, this.tooLate(container, late.signal)]);
      } finally {
        late.abort('over');
      }
    });
  }

  /** Resolves at the kill time, however often it is moved forward. */
  private async killTime(stop: Stop): Promise<void> {
    for (let ms = stop.killAt - performance.now(); ms > 0; ms = stop.killAt - performance.now()) {
      stop.hurry = new AbortController();
      // setTimeout takes 31 bits of milliseconds; a longer grace is waited for in parts.
      await pause(Math.min(ms, 2 ** 31 - 1), undefined, { signal: stop.hurry.signal, ref: false }).catch(() => undefined);
    }
  }

  private async signal(container: ContainerRecord, signal: number, all: boolean): Promise<void> {
    await reachTask(this.containerd, container.id, () => this.containerd.tasks.kill(container.id, { signal, all }));
  }

  private async tooLate(container: ContainerRecord, signal: AbortSignal): Promise<never> {
    await pause(this.config.container.stopTimeout, undefined, { signal, ref: false });
    throw new ShimError(
      status.DEADLINE_EXCEEDED,
      `container ${container.id} still runs ${this.config.container.stopTimeout / 1000} s after SIGKILL`,
    );
  }
}
