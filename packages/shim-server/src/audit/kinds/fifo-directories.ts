import { dirname, join } from 'node:path';
import { TaskIo } from '@criquet/runtime-containerd';
import { discardExec } from '../../runtime/already-gone.js';
import { instanceOf } from '../../state/exec-id.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';
import { namesIn, objectDirectories } from './object-directories.js';

/**
 * FIFO directories of containers, and in them those of exec processes. An exec ends with the daemon that runs it; its directory is named after
 * the process, so that the process is found and ended with it.
 */
export function fifoHoldings({ layout, containerd }: AuditedNode): HoldingSource {
  return {
    kind: 'fifos',
    async list() {
      const containers = await objectDirectories('fifos', dirname(layout.containerIo('id')));
      const execs = await Promise.all(containers.map(({ owner }) => ('object' in owner ? execDirectories(owner.object) : [])));
      return [...execs.flat(), ...containers];
    },
  };

  async function execDirectories(containerId: string): Promise<Holding[]> {
    const parent = layout.containerIo(containerId);
    return (await namesIn(parent)).flatMap((execId) => {
      const instance = instanceOf(execId);
      if (instance === undefined) return [];
      const directory = join(parent, execId);
      const io = TaskIo.attach(directory, { stdin: true, terminal: false });
      const remove = (signal: AbortSignal) => discardExec(containerd.tasks, { containerId, execId, io }, signal);
      return [{ kind: 'fifos' as const, name: directory, owner: { daemon: instance }, certain: true, remove }];
    });
  }
}
