import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopTurns } from '../../runtime/loop-turns.js';
import { readTextSync } from '../../runtime/read-text-sync.js';
import type { CgroupFiles } from './cgroup-files.js';

/** How deep a container may nest cgroups of its own before counting stops; the kernel sets no such limit by default. */
const MAX_DEPTH = 16;

/** The hierarchies of v1 that a container's processes are surely in, in the order they are asked. */
const V1_CONTROLLERS = ['pids', 'memory', 'cpu'];

/** The processes (thread groups) in a cgroup and those below it, as the daemon's PID namespace counts them. */
export async function readProcesses(files: CgroupFiles, turns: LoopTurns): Promise<number[]> {
  if (files.version === 'v2') return (await processesBelow(files.directory(''), turns, 0)) ?? [];
  for (const controller of V1_CONTROLLERS) {
    const found = await processesBelow(files.directory(controller), turns, 0);
    if (found !== undefined) return found;
  }
  return [];
}

/** @returns undefined when there is no such cgroup */
async function processesBelow(directory: string, turns: LoopTurns, depth: number): Promise<number[] | undefined> {
  // How many cgroups there are is a container's own affair: each has its turn.
  const found = await turns.run(() => readDirectory(directory));
  if (found === undefined || found.children.length === 0 || depth === MAX_DEPTH) return found?.pids;
  const below = await Promise.all(found.children.map((child) => processesBelow(join(directory, child), turns, depth + 1)));
  return [...found.pids, ...below.flatMap((pids) => pids ?? [])];
}

function readDirectory(directory: string): { readonly pids: number[]; readonly children: string[] } | undefined {
  try {
    // A directory is linked by itself, by its name, and by each that lies in it; where a file system counts otherwise, it is read.
    const children = statSync(directory).nlink === 2 ? [] : readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const lines = (readTextSync(join(directory, 'cgroup.procs')) ?? '').split('\n').filter((line) => line !== '' && line !== '0');
    return { pids: lines.map(Number), children: children.map(({ name }) => name) };
  } catch {
    return undefined;
  }
}
