import { basename } from 'node:path';
import { processTable } from './process-table.js';

/** What a shim's command line tells of it. */
export interface ShimCommand {
  readonly namespace: string;
  /** Of the containerd that started it. */
  readonly address: string;
  /** The container that it was started for. Containers of a pod share that of their sandbox. */
  readonly id: string;
}

/** containerd starts a shim with `-namespace`, `-address` and `-id`. */
export function shimOf([program = '', ...args]: readonly string[]): ShimCommand | undefined {
  if (!basename(program).startsWith('containerd-shim')) return undefined;
  const option = (name: string): string => args[args.indexOf(name) + 1] ?? '';
  return { namespace: option('-namespace'), address: option('-address'), id: option('-id') };
}

/** Pids of a namespace's shims by the id that they were started for: more than one where two containerds have such a namespace. */
export async function shimProcesses(proc: string, namespace: string): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  for (const process of await processTable(proc)) {
    const shim = shimOf(process.command);
    if (shim?.namespace === namespace) found.set(shim.id, [...(found.get(shim.id) ?? []), process.pid]);
  }
  return found;
}
