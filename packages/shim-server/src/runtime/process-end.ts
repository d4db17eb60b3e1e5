import { setTimeout as pause } from 'node:timers/promises';
import { isTaskGone, type Containerd, type TaskExitEvent } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { EventStream } from './event-stream.js';
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
}

/** How long containerd gets to announce the exit of a task whose shim is gone. */
const ANNOUNCEMENT_MS = 1_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Waits for the end of a process: on the task itself, and beside it for containerd's exit event, which is all
 * there is when a shim was killed. A restart of containerd is waited out.
 */
@scoped(Lifecycle.ContainerScoped)
export class ProcessEnd {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(EventStream) private readonly events: EventStream,
  ) {}

  /** @throws the signal's reason when it aborts */
  async of(containerId: string, { execId = '', signal }: ProcessEndOptions = {}): Promise<ProcessExit> {
    const done = new AbortController();
    const waiting = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
    const announced = this.announcement(containerId, execId, waiting);
    try {
      for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
        try {
          return await Promise.race([announced, this.wait(containerId, execId, waiting)]);
        } catch (error) {
          signal?.throwIfAborted();
          if (isTaskGone(error)) return await Promise.race([announced, unknownAfter(ANNOUNCEMENT_MS, waiting)]);
          await pause(ms, undefined, { signal: waiting });
        }
      }
    } finally {
      done.abort();
    }
  }

  private async wait(containerId: string, execId: string, signal: AbortSignal): Promise<ProcessExit> {
    const exit = await this.containerd.tasks.wait(containerId, execId === '' ? undefined : execId, { signal });
    return { exitStatus: exit.exitStatus, exitedAt: exit.exitedAt === 0n ? unixNanos() : exit.exitedAt, known: true };
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

async function unknownAfter(ms: number, signal: AbortSignal): Promise<ProcessExit> {
  await pause(ms, undefined, { signal });
  return { exitStatus: 255, exitedAt: unixNanos(), known: false };
}
