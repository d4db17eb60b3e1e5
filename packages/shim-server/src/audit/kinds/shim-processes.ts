import { realpath } from 'node:fs/promises';
import { isTaskGone } from '@criquet/runtime-containerd';
import { killProcess } from '../../runtime/kill-process.js';
import { processTable, readProcess } from '../../runtime/process-table.js';
import { shimOf } from '../../runtime/shim-processes.js';
import { isObjectId } from '../../state/object-id.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';

/** How long a task may be silent; whether it is there then is not known. */
const TASK_MS = 5_000;

/**
 * Shims of this containerd and namespace. One without a task and without a process below it does nothing for anybody; one that still has either
 * counts only where other things tell that its container was criquet's.
 */
export function shimHoldings({ config, containerd: { tasks }, roots }: AuditedNode): HoldingSource {
  const { namespace } = config.containerd;
  return {
    kind: 'shim',
    async list(signal) {
      const address = await resolved(config.containerd.address.replace(/^unix:\/\//, ''));
      const processes = await processTable(roots.proc);
      const parents = new Set(processes.map(({ parent }) => parent));
      const found: Holding[] = [];
      for (const process of processes) {
        const shim = shimOf(process.command);
        if (shim === undefined || shim.namespace !== namespace || !isObjectId(shim.id)) continue;
        if ((await resolved(shim.address)) !== address) continue;
        const idle = !parents.has(process.pid) && !(await mayHaveTask(shim.id, signal));
        found.push({
          kind: 'shim',
          name: String(process.pid),
          owner: { object: shim.id },
          certain: idle,
          remove: () => end(process.pid, shim.id),
        });
      }
      return found;
    },
  };

  async function mayHaveTask(id: string, signal: AbortSignal): Promise<boolean> {
    try {
      await tasks.get(id, undefined, { signal, timeoutMs: TASK_MS });
      return true;
    } catch (error) {
      return !isTaskGone(error);
    }
  }

  async function end(pid: number, id: string): Promise<void> {
    const process = await readProcess(roots.proc, pid);
    // The number may be another's by now.
    if (process !== undefined && shimOf(process.command)?.id === id) killProcess(pid);
  }
}

function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
