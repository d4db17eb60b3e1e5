import { setTimeout as pause } from 'node:timers/promises';
import { isNotFound, isTaskGone, type Snapshots, type TaskIo, type Tasks } from '@criquet/runtime-containerd';

/** For `catch`: what was to be removed is gone already. */
export function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/** For `catch`: the task is gone already, or its shim left while it answered. */
export function ignoreTaskGone(error: unknown): void {
  if (!isTaskGone(error)) throw error;
}

const SIGKILL = 9;

/** An exec process, and its FIFOs. */
export interface ExecRemains {
  readonly containerId: string;
  readonly execId: string;
  readonly io: Pick<TaskIo, 'remove'>;
}

/** Kills an exec process where it still runs, removes it, and then the directory that tells of it; what is gone is fine. @throws the signal's reason */
export async function discardExec(tasks: Pick<Tasks, 'deleteProcess' | 'kill'>, { containerId, execId, io }: ExecRemains, signal: AbortSignal): Promise<void> {
  for (let ms = 10; ; ms = Math.min(ms * 2, 1_000)) {
    try {
      await tasks.deleteProcess(containerId, execId, { signal });
      break;
    } catch (error) {
      if (isTaskGone(error)) break;
      signal.throwIfAborted();
    }
    await tasks.kill(containerId, { signal: SIGKILL, execId }, { signal }).catch(() => undefined);
    await pause(ms, undefined, { signal });
  }
  await io.remove();
}

/** Removes a snapshot; one that is gone is fine. */
export async function removeSnapshot(snapshots: Snapshots, snapshotter: string, key: string): Promise<void> {
  await snapshots.remove(snapshotter, key).catch(ignoreNotFound);
}
