import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Side } from './side.js';

/** All numbers with which the lines of a pod's container `main` begin, in their order, from its rotated logs too. */
export async function numbers(side: Side, name: string): Promise<number[]> {
  const { metadata } = await side.pod(name);
  const directory = side.machine.room.outside(`/var/log/pods/default_${metadata.name}_${metadata.uid}/main`);
  const found: number[] = [];
  for (const file of (await readdir(directory)).filter((entry) => entry.endsWith('.log')).sort()) {
    const text = await readFile(join(directory, file), 'utf8');
    for (const line of text.split('\n')) {
      const [, number] = /^\S+ stdout F (\d+)/.exec(line) ?? [];
      if (number !== undefined) found.push(Number(number));
    }
  }
  return found;
}
