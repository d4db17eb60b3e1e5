import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ListedProcess {
  readonly pid: number;
  readonly parent: number;
  /** The command and its arguments. */
  readonly command: readonly string[];
}

/** Every process that this one sees; those that end meanwhile are left out. */
export async function processTable(proc: string): Promise<ListedProcess[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name)).map(Number);
  const read = await Promise.all(pids.map((pid) => readProcess(proc, pid)));
  return read.filter((process) => process !== undefined);
}

export async function readProcess(proc: string, pid: number): Promise<ListedProcess | undefined> {
  try {
    const [cmdline, stat] = await Promise.all(['cmdline', 'stat'].map((name) => readFile(join(proc, String(pid), name), 'utf8')));
    if (cmdline === undefined || stat === undefined) return undefined;
    // The command in parentheses may hold anything; state and parent follow it.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    return { pid, parent, command: cmdline.split('\0').slice(0, -1) };
  } catch {
    return undefined;
  }
}
