import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CgroupFiles } from './cgroup-files.js';

/** How deep a container may nest cgroups of its own before counting stops; the kernel sets no such limit by default. */
const MAX_DEPTH = 16;

/** The hierarchies of v1 that a container's processes are surely in, in the order they are asked. */
const V1_CONTROLLERS = ['pids', 'memory', 'cpu'];

/** The processes (thread groups) in a cgroup and those below it, as the daemon's PID namespace counts them. */
export async function readProcesses(files: CgroupFiles): Promise<number[]> {
  if (files.version === 'v2') return (await processesBelow(files.directory(''), 0)) ?? [];
  for (const controller of V1_CONTROLLERS) {
    const found = await processesBelow(files.directory(controller), 0);
    if (found !== undefined) return found;
  }
  return [];
}

/** @returns undefined when there is no such cgroup */
async function processesBelow(directory: string, depth: number): Promise<number[] | undefined> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return undefined;
  const children = depth < MAX_DEPTH ? entries.filter((entry) => entry.isDirectory()) : [];
  const [own, ...below] = await Promise.all([
    readFile(join(directory, 'cgroup.procs'), 'utf8').catch(() => ''),
    ...children.map((child) => processesBelow(join(directory, child.name), depth + 1)),
  ]);
  const pids = own.split('\n').filter((line) => line !== '' && line !== '0');
  return [...pids.map(Number), ...below.flatMap((found) => found ?? [])];
}
