import { status } from '@grpc/grpc-js';
import { ShimError } from '../errors.js';

/** A unary call that is declared and not served. */
export function unimplemented(call: string): () => Promise<never> {
  return () => Promise.reject(notServed(call));
}

/** A streaming call that is declared and not served. */
export function unimplementedStream(call: string): () => AsyncIterable<never> {
  return () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(notServed(call)) }),
  });
}

function notServed(call: string): ShimError {
  return new ShimError(status.UNIMPLEMENTED, `${call} is not implemented`);
}
