import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readProcFile } from './read-proc-file.js';

export interface LeftoverPluginsOptions {
  /** Milliseconds in which deletions may come to their end and the killed are waited for; one in an uninterruptible system call does not end. Default 5000. */
  readonly timeoutMs?: number;
  /** Default `/proc`. */
  readonly proc?: string;
}

/** What runs for a container. */
interface Leftover {
  readonly pid: number;
  /** CNI_COMMAND */
  readonly command: string;
}

const LOOK_MS = 10;
const CONTAINER = 'CNI_CONTAINERID=';
const COMMAND = 'CNI_COMMAND=';
/** What a plugin starts may be in the middle of execve(2), where it has no environment to be found by. Where nothing was found at all one look is enough. */
const EMPTY_LOOKS = 2;

/**
 * Ends the plugins, and what they delegate to, that a runtime which was killed has left running for these containers. Each was started in a
 * session of its own and goes on alone: an ADD that ends after the DEL which is to take it back would leave its address and rules behind, so it is
 * killed. A DEL is let come to its end and killed only when the time is over: of what it has begun a second one does not always find the
 * rest (bridge looks for no masquerading rules when the interface is gone).
 *
 * @returns the pids of the killed, when nothing runs any more or the time is over
 */
export async function endLeftoverPlugins(containerIds: ReadonlySet<string>, options: LeftoverPluginsOptions = {}): Promise<number[]> {
  const { timeoutMs = 5_000, proc = '/proc' } = options;
  const killed = new Set<number>();
  if (containerIds.size === 0) return [];
  const late = performance.now() + timeoutMs;
  // What a plugin starts while it is being killed is found by the next look.
  for (let empty = EMPTY_LOOKS - 1; ; await pause(LOOK_MS)) {
    const left = await pluginsOf(containerIds, proc);
    const isLate = performance.now() > late;
    for (const { pid, command } of left) {
      if (command === 'DEL' && !isLate) continue;
      kill(pid);
      killed.add(pid);
    }
    empty = left.length === 0 ? empty + 1 : 0;
    if (empty === EMPTY_LOOKS || isLate) return [...killed];
  }
}

/** By their environment, which a plugin hands on to what it starts. */
async function pluginsOf(containerIds: ReadonlySet<string>, proc: string): Promise<Leftover[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Not to be read, or empty: it has ended, and only its parent has not noticed yet.
      const environment = (await readProcFile(join(proc, pid, 'environ')).catch(() => '')).split('\0');
      const of = (variable: string) => environment.find((line) => line.startsWith(variable))?.slice(variable.length);
      return containerIds.has(of(CONTAINER) ?? '') ? [{ pid: Number(pid), command: of(COMMAND) ?? '' }] : [];
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
