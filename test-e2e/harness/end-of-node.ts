import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { readMounts, readProcesses } from './node-state.js';
import type { Place } from './place.js';
import { tryRun } from './run.js';

/**
 * Kills with SIGKILL, each by its pid, all that runs in a node's places, until nothing does.
 *
 * @param spared pids that go on
 */
export async function killProcesses(place: Place, directory: string, spared: readonly number[] = []): Promise<void> {
  await eventually(async () => {
    const left = await readProcesses(place, directory, spared);
    for (const line of inOrder(left)) {
      try {
        process.kill(Number.parseInt(line, 10), 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
    if (left.length > 0) throw new Error(`still running: ${left.join(', ')}`);
  });
}

/** Shims first: they tell of the end of a container, and containerd tidies up after it. */
function inOrder(processes: readonly string[]): string[] {
  const shim = (line: string): number => (/^\d+ \S*containerd-shim/.test(line) ? 0 : 1);
  return [...processes].sort((a, b) => shim(a) - shim(b));
}

/** Unmounts what a node has mounted below its directory, also what is busy. */
export async function unmountAll(place: Place, directory: string): Promise<void> {
  await eventually(async () => {
    const left = await readMounts(place, (line) => line.split(' ')[4]?.startsWith(directory) === true);
    for (const mount of left.reverse()) await tryRun(...place.command('umount', ['--lazy', mount]));
    if (left.length > 0) throw new Error(`still mounted: ${left.join(', ')}`);
  });
}

/** Removes what a node keeps in memory: its state directories, and the sockets and locks in its directory. */
export async function removeVolatile(directory: string, stateDirectories: readonly string[]): Promise<void> {
  const sockets = (await readdir(directory)).filter((name) => name.includes('.sock')).map((name) => join(directory, name));
  for (const path of [...stateDirectories, ...sockets]) await rm(path, { recursive: true, force: true });
}
