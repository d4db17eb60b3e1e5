/** Resolves when every promise has settled, or after `ms`. */
export function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(resolve, ms);
    void Promise.allSettled(promises).then(() => {
      clearTimeout(late);
      resolve();
    });
  });
}
