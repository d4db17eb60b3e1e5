import type { Readable } from 'node:stream';

/** Keeps the first `limit` bytes of a stream and tells once when there is more. */
export function keepHead(stream: Readable, limit: number, onOverflow: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size > limit) return;
    size += chunk.length;
    if (size > limit) onOverflow();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

/** Keeps the last `limit` bytes of a stream: the end of a log says why. */
export function keepTail(stream: Readable, limit: number): () => string {
  let kept: Buffer[] = [];
  let size = 0;
  const tail = (): Buffer => {
    const all = Buffer.concat(kept);
    return all.subarray(Math.max(0, all.length - limit));
  };
  stream.on('data', (chunk: Buffer) => {
    kept.push(chunk);
    size += chunk.length;
    // join only now and then, so that many small chunks cost no quadratic copying
    if (size > 2 * limit) {
      kept = [tail()];
      size = limit;
    }
  });
  return () => tail().toString('utf8');
}
