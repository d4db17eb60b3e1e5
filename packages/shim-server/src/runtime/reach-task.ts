import { isAlreadyExists, isNotFound, specTypeUrl, type CallOptions, type Containerd } from '@criquet/runtime-containerd';
import { LEFTOVER_LABEL } from '../state/owner-labels.js';
import { ignoreNotFound, ignoreTaskGone } from './already-gone.js';

/** No shim is started for it. */
const RUNTIME = 'io.containerd.runc.v2';
const EMPTY_SPEC = { typeUrl: specTypeUrl, value: Buffer.from('{}') };
const SIGKILL = 9;
/** How long the kernel may take to end a killed process; one in an uninterruptible wait may never end. */
const KILLED_MS = 60_000;

/**
 * Does something to a task; one that is gone is fine.
 *
 * containerd looks for the record before it touches a task. Of a task whose record somebody has removed it says that it is gone, and yet it runs: it gets
 * a record for as long as the deed takes. Should nobody be there to remove that again, its label says that it is nobody's.
 *
 * @param deed a call, or several, on the task; rejects as containerd does when the task is gone
 */
export async function reachTask({ containers }: Pick<Containerd, 'containers'>, id: string, deed: () => Promise<unknown>, options: CallOptions = {}): Promise<void> {
  try {
    await deed();
    return;
  } catch (error) {
    ignoreTaskGone(error);
  }
  if (await hasRecord(containers, id, options)) return;
  await containers.create({ id, labels: { [LEFTOVER_LABEL]: 'task' }, runtime: { name: RUNTIME }, spec: EMPTY_SPEC }, options).catch(ignoreAlreadyExists);
  try {
    await deed().catch(ignoreTaskGone);
  } finally {
    await containers.delete(id, options).catch(ignoreNotFound);
  }
}

export interface DiscardOptions extends CallOptions {
  /** Ends the task's process by itself. @returns whether it has ended; what has not is ended through containerd. */
  readonly end?: () => Promise<boolean>;
}

/** Kills a task in whatever state, waits for its end (until then containerd refuses to delete it) and removes it; one that is gone is fine. */
export async function discardTask(containerd: Pick<Containerd, 'containers' | 'tasks'>, id: string, { end, ...options }: DiscardOptions = {}): Promise<void> {
  const { tasks } = containerd;
  const ended = (await end?.()) ?? false;
  const discard = async () => {
    if (!ended) await kill();
    await tasks.delete(id, options);
  };
  const kill = async () => {
    try {
      await tasks.kill(id, { signal: SIGKILL, all: true }, options);
      await tasks.wait(id, undefined, { timeoutMs: KILLED_MS, ...options });
    } catch (error) {
      ignoreTaskGone(error);
    }
  };
  await reachTask(containerd, id, discard, options);
}

async function hasRecord(containers: Containerd['containers'], id: string, options: CallOptions): Promise<boolean> {
  try {
    const { labels } = await containers.get(id, options);
    // One of an attempt that failed.
    return !(LEFTOVER_LABEL in labels);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function ignoreAlreadyExists(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}
