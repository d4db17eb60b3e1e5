/**
 * Waits for steps that run side by side. When one fails, its error comes after the others have ended too, so that an undo never races
 * what it undoes.
 */
export async function together<T extends readonly Promise<unknown>[]>(...steps: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const results = await Promise.allSettled(steps);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as never;
}
