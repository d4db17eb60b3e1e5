import { spawn, type ChildProcess } from 'node:child_process';
import { keepHead, keepTail } from './bounded-output.js';
import { PluginRunError, type PluginExit, type PluginRequest, type PluginRunFailure } from './plugin-runner.js';

export interface PluginProcessLimits {
  readonly maxStdoutBytes: number;
  readonly maxStderrBytes: number;
  /** Milliseconds that a child of an ended plugin may hold its output open. */
  readonly drainMs: number;
  /** Milliseconds to wait for a killed plugin's end; one in an uninterruptible system call does not end. */
  readonly reapMs: number;
}

/** Runs one process, in a session and process group of its own. */
export function runPluginProcess(request: PluginRequest, timeoutMs: number, limits: PluginProcessLimits): Promise<PluginExit> {
  return new Promise((resolve, reject) => {
    const notStarted = (cause: unknown): void => reject(spawnError(request.path, cause));
    let child: ChildProcess;
    try {
      child = spawn(request.path, [], { cwd: '/', env: { ...request.env }, detached: true, stdio: 'pipe' });
    } catch (cause) {
      notStarted(cause); // ETXTBSY, E2BIG, a NUL in the environment
      return;
    }
    const { stdin, stdout, stderr } = child;
    if (child.pid === undefined || stdin === null || stdout === null || stderr === null) {
      child.once('error', notStarted); // ENOENT, EACCES, EAGAIN, EMFILE
      return;
    }

    let ended = false;
    let stopped: { readonly failure: PluginRunFailure; readonly message: string } | undefined;
    let drain: NodeJS.Timeout | undefined;
    let reap: NodeJS.Timeout | undefined;

    const printed = keepHead(stdout, limits.maxStdoutBytes, () => {
      stop('output-limit', `printed more than ${limits.maxStdoutBytes} bytes`);
    });
    const logged = keepTail(stderr, limits.maxStderrBytes);

    const settle = (exitCode: number | null, signal: NodeJS.Signals | null): void => {
      for (const timer of [deadline, drain, reap]) clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
      if (stopped === undefined) resolve({ stdout: printed(), stderr: logged(), exitCode, signal });
      else reject(new PluginRunError(stopped.failure, stopped.message, logged()));
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    };

    const stop = (failure: PluginRunFailure, message: string): void => {
      if (ended || stopped !== undefined) return;
      stopped = { failure, message };
      killGroup(child);
      reap = setTimeout(() => settle(null, null), limits.reapMs);
    };
    const onAbort = (): void => stop('aborted', 'stopped by its caller');
    const deadline = setTimeout(() => stop('timeout', `killed after ${Math.round(request.timeoutMs)} ms`), timeoutMs);
    request.signal?.addEventListener('abort', onAbort, { once: true });

    child.once('exit', (exitCode, signal) => {
      ended = true;
      // a grandchild in the background may hold the pipes for ever: what the plugin itself printed lies in them by then. The end may be told before the
      // output, and after a stall timers come before what can be read: so reading comes once more first
      if (stopped === undefined) drain = setTimeout(() => setImmediate(settle, exitCode, signal), limits.drainMs);
      else settle(exitCode, signal);
    });
    child.once('close', settle);

    stdin.on('error', () => undefined); // a plugin need not read its configuration
    stdin.end(request.stdin);
  });
}

/** A plugin delegates to others and calls iptables: the group dies, not only its leader. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // the group is gone, or not there yet
  }
}

function spawnError(path: string, cause: unknown): PluginRunError {
  const reason = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
  return new PluginRunError('spawn', `cannot start ${path}: ${reason}`, '', { cause });
}
