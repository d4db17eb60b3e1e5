import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Who a daemon is. It stands in the lock file of its state directory while it lives; what lasts no longer than the daemon (the lease of a pull,
 * the FIFOs of an exec) carries its `instance`.
 */
export interface DaemonIdentity {
  readonly pid: number;
  /** Field 22 of `/proc/<pid>/stat`: a process that gets the same pid later has another one. */
  readonly startTime: string;
  /** Eight hexadecimal digits, new with every start. */
  readonly instance: string;
}

const INSTANCE_BYTES = 4;

/** The file that a daemon holds locked, with its identity in it. */
export function daemonLockFile(stateDir: string): string {
  return join(stateDir, 'lock');
}

/** A new identity for this process. */
export async function newIdentity(proc = '/proc'): Promise<DaemonIdentity> {
  const startTime = (await startTimeOf(process.pid, proc)) ?? '0';
  return { pid: process.pid, startTime, instance: randomBytes(INSTANCE_BYTES).toString('hex') };
}

export function formatIdentity({ pid, startTime, instance }: DaemonIdentity): string {
  return `${pid} ${startTime} ${instance}`;
}

/**
 * The daemon that uses a state directory at the moment; undefined when there is none, or the one that was there has been killed.
 *
 * @throws EACCES for a caller who may not know
 */
export async function livingDaemon(stateDir: string, proc = '/proc'): Promise<DaemonIdentity | undefined> {
  const text = await readFile(daemonLockFile(stateDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES') throw error;
    return '';
  });
  const [, pid, startTime, instance] = /^(\d+) (\d+) ([0-9a-f]{8}) *$/.exec(text) ?? [];
  if (pid === undefined || startTime === undefined || instance === undefined) return undefined;
  const alive = (await startTimeOf(Number(pid), proc)) === startTime;
  return alive ? { pid: Number(pid), startTime, instance } : undefined;
}

async function startTimeOf(pid: number, proc: string): Promise<string | undefined> {
  const stat = await readFile(join(proc, String(pid), 'stat'), 'utf8').catch(() => '');
  // The second field is the command in parentheses, which may hold anything; the rest begins with the third.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}
