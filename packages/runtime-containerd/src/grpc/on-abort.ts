import { setMaxListeners } from 'node:events';

/**
 * Calls `action` when the signal aborts.
 *
 * @returns takes the listener back; call it when what it would end has ended.
 */
export function onAbort(signal: AbortSignal | undefined, action: () => void): () => void {
  if (signal === undefined) return () => undefined;
  // One signal may bound any number of calls at once (a daemon's own does); as each takes its listener back, many are no leak.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', action, { once: true });
  return () => signal.removeEventListener('abort', action);
}
