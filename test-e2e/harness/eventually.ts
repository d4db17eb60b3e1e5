import { setTimeout as pause } from 'node:timers/promises';
import { patience } from './environment.js';

/**
 * Repeats a check until it passes, and returns what it returned.
 *
 * @param timeoutMs after which the last failure is thrown. Default 10 s.
 */
export async function eventually<T>(check: () => Promise<T> | T, timeoutMs = 10_000, everyMs = 50): Promise<T> {
  const end = Date.now() + patience(timeoutMs);
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= end) throw error;
      await pause(everyMs);
    }
  }
}
