import { isAlreadyExists, specTypeUrl, type Containerd } from '@criquet/runtime-containerd';
import { discardTask, ignoreNotFound } from '../runtime/already-gone.js';
import { LEFTOVER_LABEL } from '../state/owner-labels.js';

/** No shim is started for it. */
const RUNTIME = 'io.containerd.runc.v2';

/**
 * Kills and removes a task whose record is gone. containerd looks for the record before it touches a task, so the task gets one for that long. Should
 * nobody be there to remove it again, its label says that it is nobody's.
 */
export async function discardLostTask({ containers, tasks }: Pick<Containerd, 'containers' | 'tasks'>, id: string, signal: AbortSignal): Promise<void> {
  const spec = { typeUrl: specTypeUrl, value: Buffer.from('{}') };
  try {
    await containers.create({ id, labels: { [LEFTOVER_LABEL]: 'task' }, runtime: { name: RUNTIME }, spec }, { signal });
  } catch (error) {
    // Of an earlier attempt.
    if (!isAlreadyExists(error)) throw error;
  }
  await discardTask(tasks, id, { signal });
  await containers.delete(id, { signal }).catch(ignoreNotFound);
}
