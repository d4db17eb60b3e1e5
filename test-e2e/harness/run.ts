import { execFile } from 'node:child_process';
import { patience } from './environment.js';

export interface RunOptions {
  readonly cwd?: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds until the program is killed. Default: 60 s. */
  readonly timeoutMs?: number;
  /** Its standard input. Default: none, it is at its end. */
  readonly input?: string | Buffer;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end and returns its standard output. Throws with its standard error when it fails. */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await tryRun(program, args, options);
  if (result.code !== 0) {
    throw new Error(`${program} ${args.join(' ')}: exit code ${result.code}: ${result.stderr.trim() || result.stdout.trim()}`);
  }
  return result.stdout;
}

/** As `run`, but a failing program is a result. Throws when it cannot be started or is killed by the time limit. */
export function tryRun(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      {
        maxBuffer: 64 * 1024 * 1024,
        timeout: patience(options.timeoutMs ?? 60_000),
        killSignal: 'SIGKILL',
        env: { ...process.env, ...options.env },
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        if (typeof code === 'number') resolve({ code, stdout, stderr });
        else reject(new Error(`${program} ${args.join(' ')}: ${error?.message ?? 'failed'}: ${stderr}`, { cause: error }));
      },
    );
    // One that ends without reading its input is judged by its exit code.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input);
  });
}
