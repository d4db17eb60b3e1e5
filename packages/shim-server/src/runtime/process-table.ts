import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readTextSync } from './read-text-sync.js';

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
  const command = await readCommand(proc, pid);
  const parent = readParent(proc, pid);
  return command === undefined || parent === undefined ? undefined : { pid, parent, command };
}

/** The command and its arguments; undefined for a process that is gone. They lie in its own memory, which another thread may have to wait for. */
export async function readCommand(proc: string, pid: number): Promise<string[] | undefined> {
  const cmdline = await readFile(join(proc, String(pid), 'cmdline'), 'utf8').catch(() => undefined);
  return cmdline?.split('\0').slice(0, -1);
}

/** undefined for a process that is gone. */
export function readParent(proc: string, pid: number): number | undefined {
  const stat = readTextSync(join(proc, String(pid), 'stat'));
  // The command in parentheses may hold anything; state and parent follow it.
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
