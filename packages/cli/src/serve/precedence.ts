import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';

/** Three times the weight of what else runs. */
const NICE = -5;

/**
 * Gives the daemon's event loop precedence where the kernel shares the processors between sessions (sched(7), "The autogroup feature"): every shim and every
 * CNI plugin is a session of its own there, and the daemon is one among dozens while pods start. Programs that it starts in sessions of their own do not have it.
 * Where services have CPU weights, systemd's `CPUWeight` does the same and this is without effect.
 *
 * @param proc where this machine's `/proc` is
 */
export function takePrecedence(log: Logger, proc = '/proc'): void {
  const own = join(proc, 'self');
  try {
    // Files that the kernel makes, once, before anybody is served. In somebody's shell the whole session would have it, and keep it.
    if (!isSessionLeader(readFileSync(join(own, 'stat'), 'utf8'))) return;
    writeFileSync(join(own, 'autogroup'), String(NICE), { flag: 'r+' });
  } catch (error) {
    // A kernel without it, or a daemon without CAP_SYS_NICE.
    log.debug({ err: error }, 'the daemon has no precedence over other sessions');
  }
}

/** @param stat of proc_pid_stat(5); the command in parentheses may hold anything */
function isSessionLeader(stat: string): boolean {
  const [, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return session === stat.split(' ', 1)[0];
}
