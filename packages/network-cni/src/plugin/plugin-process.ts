import { spawnProcess, type SpawnedProcess } from '../process/spawn-process.js';
import { UNKNOWN_END, type ProcessEnd } from '../process/wait-status.js';
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

/** Runs one process, in a session and process group of its own: it delegates to others and calls iptables, and all of them die when it is stopped. */
export async function runPluginProcess(request: PluginRequest, timeoutMs: number, limits: PluginProcessLimits): Promise<PluginExit> {
  const end = performance.now() + timeoutMs;
  const child = await spawnProcess({ path: request.path, env: request.env }).catch((cause: unknown) => {
    throw spawnError(request.path, cause); // ENOENT, EACCES, ETXTBSY, E2BIG, EAGAIN, EMFILE, a NUL in the environment
  });
  return toItsEnd(child, request, end - performance.now(), limits);
}

function toItsEnd(child: SpawnedProcess, request: PluginRequest, timeoutMs: number, limits: PluginProcessLimits): Promise<PluginExit> {
  return new Promise((resolve, reject) => {
    const { stdin, stdout, stderr } = child;

    let ended = false;
    let stopped: { readonly failure: PluginRunFailure; readonly message: string } | undefined;
    let drain: NodeJS.Timeout | undefined;
    let reap: NodeJS.Timeout | undefined;

    const printed = keepHead(stdout, limits.maxStdoutBytes, () => {
      stop('output-limit', `printed more than ${limits.maxStdoutBytes} bytes`);
    });
    const logged = keepTail(stderr, limits.maxStderrBytes);

    const settle = ({ exitCode, signal }: ProcessEnd): void => {
      for (const timer of [deadline, drain, reap]) clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
      if (stopped === undefined) resolve({ stdout: printed(), stderr: logged(), exitCode, signal });
      else reject(new PluginRunError(stopped.failure, stopped.message, logged()));
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    };

    const stop = (failure: PluginRunFailure, message: string): void => {
      if (ended || stopped !== undefined) return;
      stopped = { failure, message };
      child.killGroup();
      reap = setTimeout(() => settle(UNKNOWN_END), limits.reapMs);
    };
    const onAbort = (): void => stop('aborted', 'stopped by its caller');
    const deadline = setTimeout(() => stop('timeout', `killed after ${Math.round(request.timeoutMs)} ms`), timeoutMs);
    request.signal?.addEventListener('abort', onAbort, { once: true });
    if (request.signal?.aborted === true) onAbort();

    const closed = [stdout, stderr].map((stream) => new Promise((resolve) => stream.once('close', resolve)));
    void child.ended.then(async (end) => {
      ended = true;
      stdin.destroy();
      if (stopped !== undefined) return settle(end);
      // a grandchild in the background may hold the pipes for ever: what the plugin itself printed lies in them by then. The end may be told before the
      // output, and after a stall timers come before what can be read: so reading comes once more first
      drain = setTimeout(() => setImmediate(settle, end), limits.drainMs);
      await Promise.all(closed);
      settle(end);
    });

    for (const stream of [stdout, stderr]) stream.on('error', () => undefined); // what was read of it counts
    stdin.on('error', () => undefined); // a plugin need not read its configuration
    stdin.end(request.stdin);
  });
}

function spawnError(path: string, cause: unknown): PluginRunError {
  const reason = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
  return new PluginRunError('spawn', `cannot start ${path}: ${reason}`, '', { cause });
}
