import { setTimeout as delay } from 'node:timers/promises';
import { findPlugin } from './find-plugin.js';
import { runPluginProcess, type PluginProcessLimits } from './plugin-process.js';
import { PluginRunError, type PluginExit, type PluginRequest, type PluginRunner } from './plugin-runner.js';

const DEFAULT_LIMITS: PluginProcessLimits = {
  maxStdoutBytes: 1024 * 1024,
  maxStderrBytes: 64 * 1024,
  drainMs: 500,
  reapMs: 2000,
};

/** An executable that is being replaced cannot be started for a moment (ETXTBSY). libcni retries five times in five seconds. */
const BUSY_RETRIES = 25;
const BUSY_PAUSE_MS = 200;

/**
 * Runs plugins as processes. Each gets a session and process group of its own, which is killed as a whole at the deadline, on
 * abort, and when stdout exceeds its limit (default 1 MiB). Of stderr the last 64 KiB are kept. A descendant that made a session
 * of its own escapes the kill.
 */
export class ProcessPluginRunner implements PluginRunner {
  readonly #limits: PluginProcessLimits;

  constructor(limits: Partial<PluginProcessLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  find(type: string, binDirs: readonly string[]): Promise<string | undefined> {
    return Promise.resolve(findPlugin(type, binDirs));
  }

  async run(request: PluginRequest): Promise<PluginExit> {
    const end = performance.now() + request.timeoutMs;
    for (let attempt = 0; ; attempt += 1) {
      if (request.signal?.aborted === true) throw new PluginRunError('aborted', 'stopped by its caller');
      const remaining = end - performance.now();
      if (remaining <= 0) throw new PluginRunError('timeout', 'no time left to start it');
      try {
        return await runPluginProcess(request, remaining, this.#limits);
      } catch (error) {
        const busy = error instanceof PluginRunError && error.failure === 'spawn' && error.message.endsWith('ETXTBSY');
        if (!busy || attempt === BUSY_RETRIES) throw error;
        await delay(BUSY_PAUSE_MS, undefined, request.signal ? { signal: request.signal } : {}).catch(() => undefined);
      }
    }
  }
}
