import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readProcFile } from './read-proc-file.js';

export interface LeftoverPluginsOptions {
  /** Milliseconds to wait for the killed to end; one in an uninterruptible system call does not. Default 5000. */
  readonly timeoutMs?: number;
  /** Default `/proc`. */
  readonly proc?: string;
}

const LOOK_MS = 10;
const VARIABLE = 'CNI_CONTAINERID=';

/**
 * Kills the plugins, and what they delegate to, that a runtime which was killed has left running for these containers. Each was started in a
 * session of its own and goes on alone: an ADD that ends after the DEL which is to take it back would leave its address and rules behind.
 *
 * @returns the pids, when all of them have ended or the time is over
 */
export async function endLeftoverPlugins(containerIds: ReadonlySet<string>, options: LeftoverPluginsOptions = {}): Promise<number[]> {
  const { timeoutMs = 5_000, proc = '/proc' } = options;
  const killed = new Set<number>();
  if (containerIds.size === 0) return [];
  // What a plugin starts while it is being killed is found by the next look.
  for (const late = performance.now() + timeoutMs; ; await pause(LOOK_MS)) {
    const left = await pluginsOf(containerIds, proc);
    for (const pid of left) {
      kill(pid);
      killed.add(pid);
    }
    if (left.length === 0 || performance.now() > late) return [...killed];
  }
}

/** By their environment, which a plugin hands on to what it starts. */
async function pluginsOf(containerIds: ReadonlySet<string>, proc: string): Promise<number[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Not to be read, or empty: it has ended, and only its parent has not noticed yet.
      const environment = await readProcFile(join(proc, pid, 'environ')).catch(() => '');
      const variable = environment.split('\0').find((line) => line.startsWith(VARIABLE));
      return variable !== undefined && containerIds.has(variable.slice(VARIABLE.length)) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
