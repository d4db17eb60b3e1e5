import { setTimeout as pause } from 'node:timers/promises';
import { isTaskGone, type Containerd, type Exit, type TaskExitEvent } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { EventStream } from './event-stream.js';
import { Shims } from './shims.js';
import { unixNanos } from '../state/clock.js';
import { Token } from '../tokens.js';

/** How a process ended, as far as anybody knows. */
export interface ProcessExit {
  /** 0 to 255, 128 + n for signal n; 255 when nobody knows. */
  readonly exitStatus: number;
  /** Unix time in nanoseconds. */
  readonly exitedAt: bigint;
  /** False when containerd has lost the process and its exit status. */
  readonly known: boolean;
}

export interface ProcessEndOptions {
  readonly execId?: string;
  readonly signal?: AbortSignal;
  /** Ask the shim from the start, and containerd where it does not answer. Default: the shim while containerd is away. */
  readonly onShim?: boolean;
  /** How long only containerd's events are listened to, for a process that is likely to end soon: they come anyway, and a call costs more than they do. Default 0. */
  readonly listenMs?: number;
  /** Who else may tell of the end; where it fails it tells nothing. */
  readonly beside?: Promise<Exit>;
}

/** After the start of what is to live long: its shim is looked for, and asked, when the answer to the start is on its way. */
export const BEHIND_ANSWER_MS = 20;

/** How long containerd gets to announce the exit of a task whose shim is gone. */
const ANNOUNCEMENT_MS = 1_000;
/** The same for what a shim could not tell while containerd was away: it tries again after one, two and three seconds more. */
const LATE_ANNOUNCEMENT_MS = 7_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** Nobody hears of it; without one an error is made, with its stack. */
const OVER = 'over';
/** A wait that containerd does not end within this time has reached the task. */
const REACHED_MS = 5_000;

/**
 * Waits for the end of a process: on the task itself, and beside it for containerd's exit event, which is all there is when a shim was killed. A
 * containerd that starts takes ended tasks away, and with them their exit codes: so the shim is asked while containerd is away, and from the start where
 * the code must not be lost, since a daemon that gets no processor may notice containerd's absence when it is over.
 */
@scoped(Lifecycle.ContainerScoped)
export class ProcessEnd {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(EventStream) private readonly events: EventStream,
    @inject(Shims) private readonly shims: Shims,
  ) {}

  /** @throws the signal's reason when it aborts */
  async of(containerId: string, { execId = '', signal, onShim = false, listenMs = 0, beside }: ProcessEndOptions = {}): Promise<ProcessExit> {
    const done = new AbortController();
    const waiting = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
    const told = [this.announcement(containerId, execId, waiting)];
    if (beside !== undefined) told.push(beside.then(known, () => new Promise(() => undefined)));
    let outage: AbortController | undefined;
    try {
      if (listenMs > 0) {
        const ended = await within(listenMs, told);
        signal?.throwIfAborted();
        if (ended !== undefined) return ended;
      }
      if (onShim) {
        const ended = await Promise.race([...told, this.shims.wait(containerId, execId, waiting).then(known, () => undefined)]);
        signal?.throwIfAborted();
        if (ended !== undefined) return ended;
      }
      for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
        const reached = outage === undefined ? undefined : setTimeout(() => outage?.abort(OVER), REACHED_MS);
        try {
          return await Promise.race([...told, this.wait(containerId, execId, waiting)]);
        } catch (error) {
          signal?.throwIfAborted();
          if (isTaskGone(error)) return await Promise.race([...told, unknownAfter(outage === undefined ? ANNOUNCEMENT_MS : LATE_ANNOUNCEMENT_MS, waiting)]);
          if (outage?.signal.aborted !== false) {
            outage = new AbortController();
            told.push(this.persistentlyOnShim(containerId, execId, AbortSignal.any([waiting, outage.signal])));
          }
          const ended = await Promise.race([...told, pause(ms, undefined, { signal: waiting })]);
          if (ended !== undefined) return ended;
        } finally {
          clearTimeout(reached);
        }
      }
    } finally {
      done.abort(OVER);
    }
  }

  private async wait(containerId: string, execId: string, signal: AbortSignal): Promise<ProcessExit> {
    return known(await this.containerd.tasks.wait(containerId, execId === '' ? undefined : execId, { signal }));
  }

  /** Never ends without an exit: where the shim cannot be asked, containerd and its events are what there is. */
  private async persistentlyOnShim(containerId: string, execId: string, signal: AbortSignal): Promise<ProcessExit> {
    for (let ms = FIRST_PAUSE_MS; !signal.aborted; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
      try {
        return known(await this.shims.wait(containerId, execId, signal));
      } catch {
        await pause(ms, undefined, { signal }).catch(() => undefined);
      }
    }
    return new Promise(() => undefined);
  }

  private announcement(containerId: string, execId: string, signal: AbortSignal): Promise<ProcessExit> {
    return new Promise((resolve) => {
      const onExit = (event: TaskExitEvent) => {
        if (event.containerId !== containerId || event.execId !== execId) return;
        this.events.off('exit', onExit);
        resolve({ exitStatus: event.exitStatus, exitedAt: event.exitedAt, known: true });
      };
      this.events.on('exit', onExit);
      signal.addEventListener('abort', () => this.events.off('exit', onExit), { once: true });
    });
  }
}

function known({ exitStatus, exitedAt }: Exit): ProcessExit {
  return { exitStatus, exitedAt: exitedAt === 0n ? unixNanos() : exitedAt, known: true };
}

async function unknownAfter(ms: number, signal: AbortSignal): Promise<ProcessExit> {
  await pause(ms, undefined, { signal });
  return { exitStatus: 255, exitedAt: unixNanos(), known: false };
}

/** What comes first of some promises, or undefined where nothing does in time. */
async function within<T>(ms: number, promises: readonly Promise<T>[]): Promise<T | undefined> {
  let late: NodeJS.Timeout | undefined;
  const nothing = new Promise<undefined>((resolve) => (late = setTimeout(() => resolve(undefined), ms)));
  try {
    return await Promise.race([...promises, nothing]);
  } finally {
    clearTimeout(late);
  }
}
