/** Does something `count` times, at most `atOnce` of them under way. */
export async function inBatches(count: number, atOnce: number, deed: () => Promise<void>): Promise<void> {
  let begun = 0;
  const worker = async () => {
    while (begun < count) {
      begun += 1;
      await deed();
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, worker));
}
