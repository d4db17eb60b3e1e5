import { readdir, readFile } from 'node:fs/promises';
import type { TestNode } from '../harness/node.js';

/** The node's shims that run or are stopped, by the pod they were started for. */
export async function shimsOf({ directory }: TestNode): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  await Promise.all(
    (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(async (pid) => {
      const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
      const id = words[words.indexOf('-id') + 1];
      // `start` and `delete` are short commands of containerd's, with more words behind these.
      if (words[0]?.includes('containerd-shim') !== true || !words.includes('-namespace') || words.some((word) => ['start', 'delete'].includes(word))) return;
      if (id !== undefined && words.some((word) => word.startsWith(directory))) found.set(id, Number(pid));
    }),
  );
  return found;
}

/** @throws when the pod has none */
export async function shimOf(node: TestNode, podSandboxId: string): Promise<number> {
  const pid = (await shimsOf(node)).get(podSandboxId);
  if (pid === undefined) throw new Error(`pod ${podSandboxId} has no shim`);
  return pid;
}
