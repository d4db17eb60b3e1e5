import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openDescriptors, residentBytes } from '../bench/resident-memory.js';
import type { TestNode } from '../harness/node.js';
import { KINDS } from '../harness/node-state.js';
import { COLLECT_GARBAGE } from './collect-garbage.js';
import { criquetOf } from './scenarios/dying-daemon.js';

/** How much there is of each kind of thing that could pile up. */
export type Footprint = Readonly<Record<string, number>>;

/** Bytes of the daemon's resident memory. */
export const MEMORY = 'resident bytes';

const SAMPLES = 12;
const EVERY_MS = 500;

/**
 * What a daemon and its containerd have at the moment, as far as it can be counted: the least of several looks over some seconds, since what a call needs comes
 * and goes, and memory that is garbage is given back when it is collected.
 * A node `withFailpoints` collects it at once.
 */
export async function footprint(node: TestNode): Promise<Footprint> {
  const { pid } = criquetOf(node);
  if (pid !== undefined && node.options.withFailpoints === true) process.kill(pid, COLLECT_GARBAGE);
  const looks = [await look(node)];
  while (looks.length < SAMPLES) {
    await pause(EVERY_MS);
    looks.push(await look(node));
  }
  return least(looks);
}

/** The least of each kind. */
export function least(footprints: readonly Footprint[]): Footprint {
  const kinds = Object.keys(footprints[0] ?? {});
  return Object.fromEntries(kinds.map((kind) => [kind, Math.min(...footprints.map((one) => one[kind] ?? 0))]));
}

/** Kinds of which there is more than before by more than this part, in words. */
export function grown(before: Footprint, after: Footprint, by: Readonly<Record<string, number>>, otherwise: number): string[] {
  return Object.entries(after)
    .filter(([kind, count]) => count > (before[kind] ?? 0) * (1 + (by[kind] ?? otherwise)))
    .map(([kind, count]) => `${kind}: ${before[kind]} before, ${count} now`);
}

async function look(node: TestNode): Promise<Footprint> {
  const { pid, stateDir } = criquetOf(node);
  if (pid === undefined) throw new Error('no daemon');
  const [state, content, status] = await Promise.all([
    node.state(),
    node.containerd.ctr('--namespace', 'k8s.io', 'content', 'ls', '--quiet'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ]);
  return {
    ...Object.fromEntries(KINDS.map((kind) => [kind, state[kind].length])),
    'open descriptors': await openDescriptors(pid),
    threads: Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1]),
    FIFOs: await fifosBelow(stateDir),
    content: content.split('\n').filter((line) => line !== '').length,
    [MEMORY]: await residentBytes(pid),
  };
}

async function fifosBelow(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true });
  const found = await Promise.all(names.map((name) => lstat(join(directory, name)).then((stats) => stats.isFIFO(), () => false)));
  return found.filter((is) => is).length;
}
