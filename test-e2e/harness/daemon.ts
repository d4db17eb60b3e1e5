import { spawn, type ChildProcess } from 'node:child_process';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { patience } from './environment.js';
import { here, type Place } from './place.js';

export interface DaemonOptions {
  /** Names its log and pid file. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where it runs. Default: the namespaces of this process. */
  readonly place?: Place;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where NAME.log (appended to) and NAME.pid are written. */
  readonly directory: string;
  /** Rejects as long as the daemon does not serve. */
  readonly ready: () => Promise<void>;
  /** Milliseconds within which it must serve. Default 30 s. */
  readonly readyTimeoutMs?: number;
}

export interface DaemonExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that runs until it is stopped, by its pid. */
export class Daemon {
  private constructor(
    readonly name: string,
    readonly pid: number,
    readonly logFile: string,
    /** Resolves when it has ended. */
    readonly exited: Promise<DaemonExit>,
    private readonly child: ChildProcess,
  ) {}

  /** Starts a daemon and waits until it serves. Throws with the end of its log when it does not. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const logFile = join(options.directory, `${options.name}.log`);
    const log = await open(logFile, 'a');
    const [program, args] = (options.place ?? here).command(options.program, options.args);
    const child = spawn(program, [...args], {
      env: { ...withoutTestRunner(process.env), ...options.env },
      stdio: ['ignore', log.fd, log.fd],
      // A process group of its own: an interrupt at the terminal reaches the test, which stops it in order.
      detached: true,
    });
    await log.close();
    const exited = new Promise<DaemonExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
      child.once('error', () => resolve({ code: 127, signal: null }));
    });
    if (child.pid === undefined) {
      await exited;
      throw new Error(`${options.name}: cannot start ${options.program}`);
    }
    await writeFile(join(options.directory, `${options.name}.pid`), `${child.pid}\n`);
    const daemon = new Daemon(options.name, child.pid, logFile, exited, child);
    try {
      await daemon.waitUntilReady(options);
    } catch (error) {
      await daemon.stop('SIGKILL');
      throw error;
    }
    return daemon;
  }

  /** Sends a signal and waits for the end; SIGKILL follows after `timeoutMs`. Stopping a stopped daemon succeeds. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', timeoutMs = 10_000): Promise<DaemonExit> {
    this.child.kill(signal);
    const late = new AbortController();
    const ended = await Promise.race([
      this.exited,
      pause(patience(timeoutMs), undefined, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
    if (ended !== undefined) return ended;
    this.child.kill('SIGKILL');
    return this.exited;
  }

  private async waitUntilReady(options: DaemonOptions): Promise<void> {
    const end = Date.now() + patience(options.readyTimeoutMs ?? 30_000);
    let ended: DaemonExit | undefined;
    void this.exited.then((exit) => {
      ended = exit;
    });
    for (;;) {
      let reason: unknown;
      try {
        return await options.ready();
      } catch (error) {
        reason = error;
      }
      if (ended !== undefined || Date.now() > end) {
        const tail = (await readFile(this.logFile, 'utf8')).trimEnd().split('\n').slice(-15).join('\n');
        const why = ended === undefined ? `does not serve: ${String(reason)}` : `ended with ${ended.signal ?? ended.code}`;
        throw new Error(`${this.name} ${why}\n${tail}`);
      }
      await pause(30);
    }
  }
}

/** What `tap` loads into every Node.js process below it takes 80 MB and half a second, which no daemon has elsewhere. */
function withoutTestRunner(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...environment, NODE_OPTIONS: '' };
}
