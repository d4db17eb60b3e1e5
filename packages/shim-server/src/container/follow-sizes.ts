import type { TerminalSize, TerminalSizes } from '../streaming/index.js';

/** Gives a terminal each size of its client, one after the other, until the client is gone or `signal` aborts. Never rejects. */
export async function followSizes(sizes: TerminalSizes, signal: AbortSignal, resize: (size: TerminalSize) => Promise<void>): Promise<void> {
  for (let size = await sizes.next(); size !== undefined && !signal.aborted; size = await sizes.next()) {
    // A terminal that is gone has no size; the next one may be for one that is there.
    await resize(size).catch(() => undefined);
  }
}
