import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TaskProcess } from '@criquet/runtime-containerd';
import { discardTask } from '../../runtime/reach-task.js';
import { isObjectId } from '../../state/object-id.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';
import { namesIn } from './object-directories.js';

/** containerd asks every shim for its part, each at most two seconds. */
const LIST_MS = 30_000;

/**
 * Tasks of containers and pause processes. Others may run tasks in the same namespace: criquet's are known by FIFOs in its directory, or by the
 * built-in pause program.
 */
export function taskHoldings({ containerd, layout, roots }: AuditedNode): HoldingSource {
  const { tasks } = containerd;
  return {
    kind: 'task',
    async list(signal) {
      const found = (await tasks.list({ signal, timeoutMs: LIST_MS })).filter(({ containerId }) => isObjectId(containerId));
      const pausePrograms = await identitiesOfPause();
      return Promise.all(
        found.map(async (task): Promise<Holding> => {
          const { containerId: id } = task;
          const certain = hasOwnFifos(task) || (await runsPause(task, pausePrograms));
          return { kind: 'task', name: id, owner: { object: id }, certain, remove: (ending) => discardTask(containerd, id, { signal: ending }) };
        }),
      );
    },
  };

  function hasOwnFifos({ stdin, stdout, stderr, containerId }: TaskProcess): boolean {
    return [stdin, stdout, stderr].some((path) => path.startsWith(`${layout.containerIo(containerId)}/`));
  }

  async function identitiesOfPause(): Promise<Set<string>> {
    const parent = dirname(layout.pauseRoot('build'));
    const programs = (await namesIn(parent)).map((build) => join(layout.pauseRoot(build), 'pause'));
    return new Set((await Promise.all(programs.map(fileIdentity))).filter((identity) => identity !== ''));
  }

  async function runsPause({ pid }: TaskProcess, programs: ReadonlySet<string>): Promise<boolean> {
    return pid > 0 && programs.has(await fileIdentity(join(roots.proc, String(pid), 'exe')));
  }
}

/** Device and inode; '' for what is not there. */
async function fileIdentity(path: string): Promise<string> {
  const file = await stat(path).catch(() => undefined);
  return file === undefined ? '' : `${file.dev}:${file.ino}`;
}
