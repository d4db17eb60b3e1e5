import { status } from '@grpc/grpc-js';
import { ShimError } from '../errors.js';

/** A unary call that is declared and not served. */
export function unimplemented(call: string): () => Promise<never> {
  return () => Promise.reject(notServed(call));
}

function notServed(call: string): ShimError {
  return new ShimError(status.UNIMPLEMENTED, `${call} is not implemented`);
}
