import type { TestNode } from '../harness/node.js';

/** A way in which containerd does not serve, and its end. */
export interface Absence {
  readonly name: string;
  /** Reason of the RuntimeReady condition meanwhile. */
  readonly reason: string;
  begin(node: TestNode): Promise<void>;
  end(node: TestNode): Promise<void>;
}

export const ABSENCES: readonly Absence[] = [
  {
    name: 'gone',
    reason: 'ContainerdUnavailable',
    begin: ({ containerd }) => containerd.stop('SIGKILL'),
    end: ({ containerd }) => containerd.start(),
  },
  {
    name: 'hung',
    reason: 'ContainerdNotAnswering',
    begin: (node) => signal(node, 'SIGSTOP'),
    end: (node) => signal(node, 'SIGCONT'),
  },
];

async function signal({ containerd }: TestNode, name: NodeJS.Signals): Promise<void> {
  if (containerd.pid === undefined) throw new Error('containerd does not run');
  process.kill(containerd.pid, name);
  await Promise.resolve();
}
