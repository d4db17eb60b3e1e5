import { status } from '@grpc/grpc-js';

/** A CRI call that the runtime answered with an error, or that did not reach it. */
export class CriCallError extends Error {
  override readonly name = 'CriCallError';

  constructor(
    /** The CRI call, for example `RunPodSandbox`. */
    readonly call: string,
    /** The gRPC status code (`@grpc/grpc-js` `status`). */
    readonly code: status,
    /** The runtime's own message, without the code. */
    readonly details: string,
    options?: ErrorOptions,
  ) {
    super(`${call}: ${status[code] ?? code}: ${details}`, options);
  }
}
