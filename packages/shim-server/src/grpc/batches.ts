/** Far below the 16 MiB that the kubelet takes, and enough that a node's whole list takes few messages. */
const BATCH_BYTES = 1024 * 1024;

/** What a message type of CRI offers. */
interface Encoder<T> {
  encode(message: T): { finish(): Uint8Array };
}

/**
 * The items of a Stream* call's replies, in order: each in exactly one batch, no batch empty, and no batch above about a megabyte
 * unless a single item is.
 */
export function* inBatches<T>(type: Encoder<T>, items: readonly T[]): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = type.encode(item).finish().length;
    if (batch.length > 0 && bytes + size > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
