import { readFile } from 'node:fs/promises';

/** RLIM_INFINITY of linux/resource.h. */
const UNLIMITED = 2n ** 64n - 1n;

/**
 * The soft limit on open files of a process, proc_pid_limits(5); it is the one of all limits that cAdvisor's metric carries.
 * Absent when the process is gone.
 */
export async function readOpenFilesLimit(pid: number, proc: string): Promise<bigint | undefined> {
  const text = await readFile(`${proc}/${pid}/limits`, 'utf8').catch(() => '');
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? UNLIMITED : BigInt(soft);
}
