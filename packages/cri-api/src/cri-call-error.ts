import { status } from '@grpc/grpc-js';

export interface CriCallErrorOptions extends ErrorOptions {
  /** Default: false. */
  readonly connectionFailed?: boolean;
}

/** A CRI call that the runtime answered with an error, or that did not reach it. */
export class CriCallError extends Error {
  override readonly name = 'CriCallError';

  /** No connection to the endpoint could be made, or it was lost: the error is not an answer of the runtime. */
  readonly connectionFailed: boolean;

  constructor(
    /** The CRI call, for example `RunPodSandbox`. */
    readonly call: string,
    /** The gRPC status code (`@grpc/grpc-js` `status`). */
    readonly code: status,
    /** The runtime's own message without the code, or what is wrong with the connection. */
    readonly details: string,
    options?: CriCallErrorOptions,
  ) {
    super(`${call}: ${status[code] ?? code}: ${details}`, options);
    this.connectionFailed = options?.connectionFailed ?? false;
  }
}
