import { status } from '@grpc/grpc-js';

/** An error answer of the fake. */
export class FakeStatus extends Error {
  override readonly name = 'FakeStatus';

  constructor(
    readonly code: status,
    readonly details: string,
  ) {
    super(details);
  }
}

export function notFound(what: string): FakeStatus {
  return new FakeStatus(status.NOT_FOUND, `${what}: not found`);
}

export function alreadyExists(what: string): FakeStatus {
  return new FakeStatus(status.ALREADY_EXISTS, `${what}: already exists`);
}

export function failedPrecondition(what: string): FakeStatus {
  return new FakeStatus(status.FAILED_PRECONDITION, `${what}: failed precondition`);
}

/** What containerd passes on when a shim goes while a call is with it. */
export function shimLeft(): FakeStatus {
  return new FakeStatus(status.UNKNOWN, 'ttrpc: closed');
}

export function invalidArgument(what: string): FakeStatus {
  return new FakeStatus(status.INVALID_ARGUMENT, `${what}: invalid argument`);
}
