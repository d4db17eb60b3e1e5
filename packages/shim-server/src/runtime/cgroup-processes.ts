import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { killProcess } from './kill-process.js';

/** A cgroup and those below it, which come after it; none where it is not there. */
export async function cgroupsFrom(cgroup: string): Promise<string[]> {
  const entries = await readdir(cgroup, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const below = await Promise.all(entries.filter((entry) => entry.isDirectory()).map(({ name }) => cgroupsFrom(join(cgroup, name))));
  return [cgroup, ...below.flat()];
}

/** SIGKILL to everything in some cgroups. @returns how many processes there were */
export async function killIn(cgroups: readonly string[]): Promise<number> {
  const pids = new Set<number>();
  for (const cgroup of cgroups) {
    const text = await readFile(join(cgroup, 'cgroup.procs'), 'utf8').catch(() => '');
    // A process of another pid namespace that cannot be named is 0.
    for (const pid of text.split('\n').map(Number)) if (pid > 1) pids.add(pid);
  }
  for (const pid of pids) killProcess(pid);
  if (pids.size > 0) await Promise.all(cgroups.map(thaw));
  return pids.size;
}

/** cgroup v1 delivers no signal to what is frozen. */
async function thaw(cgroup: string): Promise<void> {
  await writeFile(join(cgroup, 'freezer.state'), 'THAWED', { flag: 'r+' }).catch(() => undefined);
}
