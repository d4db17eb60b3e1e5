import { status } from '@grpc/grpc-js';

/** The words that CRI's clients look for at the very beginning of a message (k8s.io/cri-api `pkg/errors`). */
export type CriReason = 'RegistryUnavailable' | 'SignatureValidationFailed' | 'RROUnsupported' | 'ImageVolumeMountFailed';

export interface ShimErrorOptions extends ErrorOptions {
  readonly reason?: CriReason | undefined;
}

/**
 * An error of the shim's own: the gRPC status the caller gets, and a message that names the field or step.
 * Errors of containerd and CNI keep their own types and become a status in `grpc/status.ts`.
 */
export class ShimError extends Error {
  override readonly name = 'ShimError';
  /** Stands before everything else that the caller is told, the step's name too. */
  readonly reason: CriReason | undefined;

  constructor(
    readonly code: status,
    message: string,
    options: ShimErrorOptions = {},
  ) {
    super(message, options);
    this.reason = options.reason;
  }
}

/** INVALID_ARGUMENT: `field` is the CRI field's path, for example `config.metadata.name`. */
export function invalidArgument(field: string, why: string): ShimError {
  return new ShimError(status.INVALID_ARGUMENT, `${field}: ${why}`);
}

/** NOT_FOUND: `what` is the noun, for example `container`. */
export function notFound(what: string, id: string): ShimError {
  return new ShimError(status.NOT_FOUND, `${what} ${JSON.stringify(id)} not found`);
}

export function alreadyExists(message: string): ShimError {
  return new ShimError(status.ALREADY_EXISTS, message);
}

/** RESOURCE_EXHAUSTED: `option` is the configuration key that sets the limit, for example `streaming.max_streams`. */
export function resourceExhausted(what: string, option: string, limit: number): ShimError {
  return new ShimError(status.RESOURCE_EXHAUSTED, `${what}: ${option} is ${limit}`);
}

export function failedPrecondition(message: string): ShimError {
  return new ShimError(status.FAILED_PRECONDITION, message);
}

/** No room: on the file system, and in the share of it that a user has. */
const NO_ROOM = new Set<unknown>(['ENOSPC', 'EDQUOT']);

/** Whether a system call failed because something is full. */
export function hasNoRoom(error: unknown): boolean {
  return NO_ROOM.has((error as Partial<NodeJS.ErrnoException>).code);
}
