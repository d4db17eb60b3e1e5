import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { killProcess } from './kill-process.js';

/** A cgroup and those below it, which come after it; none where it is not there. */
export async function cgroupsFrom(cgroup: string): Promise<string[]> {
  const entries = await readdir(cgroup, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [];
  const below = await Promise.all(entries.filter((entry) => entry.isDirectory()).map(({ name }) => cgroupsFrom(join(cgroup, name))));
  return [cgroup, ...below.flat()];
}

/**
 * SIGKILL to every process that is in one of some cgroups, by what the process itself says as well: between the two looks its number may have become
 * another's.
 *
 * @returns how many processes there were
 */
export async function killIn(cgroups: readonly string[]): Promise<number> {
  let killed = 0;
  for (const cgroup of cgroups) {
    const text = await readFile(join(cgroup, 'cgroup.procs'), 'utf8').catch(() => '');
    // A process of another pid namespace that cannot be named is 0.
    const pids = text.split('\n').map(Number).filter((pid) => pid > 1);
    for (const pid of pids) {
      if (!(await isIn(pid, basename(cgroup)))) continue;
      killProcess(pid);
      killed += 1;
    }
    if (pids.length > 0) await thaw(cgroup);
  }
  return killed;
}

/** proc(5): a line a hierarchy, `number:controllers:path`. */
async function isIn(pid: number, name: string): Promise<boolean> {
  const own = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  return own.split('\n').some((line) => line.endsWith(`/${name}`));
}

/** cgroup v1 delivers no signal to what is frozen. */
async function thaw(cgroup: string): Promise<void> {
  await writeFile(join(cgroup, 'freezer.state'), 'THAWED', { flag: 'r+' }).catch(() => undefined);
}
