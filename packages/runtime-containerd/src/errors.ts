import { status } from '@grpc/grpc-js';

/** A call that containerd answered with an error, or that did not reach it. */
export class ContainerdError extends Error {
  override readonly name = 'ContainerdError';

  constructor(
    /** The gRPC status code (`status` of `@grpc/grpc-js`). */
    readonly code: status,
    /** Service and method, for example `containers.get`. */
    readonly call: string,
    /** containerd's own message without the code, or what is wrong with the connection to it. */
    readonly details: string,
    options?: ErrorOptions,
  ) {
    super(`containerd ${call}: ${status[code] ?? `code ${code}`}: ${details}`, options);
  }
}

export function isNotFound(error: unknown): error is ContainerdError {
  return hasCode(error, status.NOT_FOUND);
}

export function isAlreadyExists(error: unknown): error is ContainerdError {
  return hasCode(error, status.ALREADY_EXISTS);
}

/** containerd is not there, or went away during the call. */
export function isUnavailable(error: unknown): error is ContainerdError {
  return hasCode(error, status.UNAVAILABLE);
}

export function isFailedPrecondition(error: unknown): error is ContainerdError {
  return hasCode(error, status.FAILED_PRECONDITION);
}

export function isDeadlineExceeded(error: unknown): error is ContainerdError {
  return hasCode(error, status.DEADLINE_EXCEEDED);
}

/** The caller's own signal ended the call. */
export function isCancelled(error: unknown): error is ContainerdError {
  return hasCode(error, status.CANCELLED);
}

/**
 * The task or process of a task call is no more: NOT_FOUND, or the shim left between the call and its answer. containerd passes
 * the latter on as UNKNOWN (or UNAVAILABLE, newer versions) with the text of its shim protocol. When a process is to be
 * stopped or deleted, both are success.
 */
export function isTaskGone(error: unknown): error is ContainerdError {
  if (isNotFound(error)) return true;
  return (
    (hasCode(error, status.UNKNOWN) || hasCode(error, status.UNAVAILABLE)) && /\bttrpc: closed\b/.test(error.details)
  );
}

/**
 * A `tasks.create` of the same container whose caller gave up is still at work, or is being cleaned up after: containerd's directory of the task is there, or the
 * OCI runtime's, and no task yet or any more. containerd passes on the error of mkdir, or of runc, with UNKNOWN.
 */
export function isTaskUnderWay(error: unknown): error is ContainerdError {
  return hasCode(error, status.UNKNOWN) && /^mkdir .*: file exists$|container with given ID already exists$/.test(error.details);
}

function hasCode(error: unknown, code: status): error is ContainerdError {
  return error instanceof ContainerdError && error.code === code;
}
