import { setTimeout as pause } from 'node:timers/promises';

/** Resolves when every promise has settled, or after `ms`. */
export async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<void> {
  const done = new AbortController();
  await Promise.race([Promise.allSettled(promises), pause(ms, undefined, { signal: done.signal }).catch(() => undefined)]);
  done.abort();
}
