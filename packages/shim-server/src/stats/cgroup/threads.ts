import type { CgroupFiles } from './cgroup-files.js';

/** Threads (tasks) in a cgroup and those below it; without the pids controller those of the cgroup itself. */
export function readThreads(files: CgroupFiles): bigint | undefined {
  const current = files.number('pids', 'pids.current');
  if (current !== undefined) return current;
  const list = files.version === 'v2' ? files.text('', 'cgroup.threads') : files.text('cpu', 'tasks');
  return list === undefined ? undefined : BigInt(list.split('\n').filter((line) => line !== '').length);
}
