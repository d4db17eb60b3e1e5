import type { Readable, Writable } from 'node:stream';

/**
 * Copies a client's input to a process until the client ends it or goes away, or the process takes no more; from then on what the client sends is
 * dropped, so that it does not stand in the way of what else comes on its connection.
 *
 * @param closeInput closes the process' own end of its input, once everything is written.
 * @returns whether the input came to its end. Never rejects.
 */
export async function feedStdin(from: Readable, to: Writable | undefined, closeInput: () => Promise<void>): Promise<boolean> {
  if (to === undefined) {
    from.resume();
    return inputEnd(from);
  }
  from.pipe(to, { end: false });
  const refused = new Promise<false>((resolve) => to.once('close', () => resolve(false)));
  const ended = await Promise.race([inputEnd(from), refused]);
  from.unpipe(to);
  from.resume();
  if (to.destroyed) return ended;
  await new Promise<void>((resolve) => {
    to.once('close', () => resolve());
    to.end();
  });
  await closeInput().catch(() => undefined);
  return ended;
}

/** True at its end, false when it is destroyed before. */
export function inputEnd(from: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    if (from.readableEnded || from.destroyed) return resolve(from.readableEnded);
    from.once('end', () => resolve(true));
    from.once('close', () => resolve(from.readableEnded));
  });
}
