import { CriCallError } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';

/** What the command's exit code says. `pod exec` passes the exit code of its command on instead. */
export const ExitCode = {
  ok: 0,
  /** A call to the runtime failed, or the daemon could not start. */
  failed: 1,
  /** The command line, the configuration or the manifest is wrong. */
  usage: 2,
  /** There is no such pod or container. */
  notFound: 3,
  /** The time given by --timeout ran out. */
  timedOut: 4,
  /** The pod ran and failed: a container ended with an error and is not to be restarted. */
  podFailed: 5,
  /** `audit` found something that has no owner, and it is still there. */
  orphans: 6,
  /** Ended by Ctrl-C or SIGTERM, as shells count it. */
  interrupted: 130,
} as const;

/** An error that says its exit code; its message is for the user as it stands. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The exit code for whatever a command threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof CriCallError) return callExitCode(error);
  const name = error instanceof Error ? error.name : '';
  if (name === 'TimeoutError') return ExitCode.timedOut;
  if (name === 'AbortError') return ExitCode.interrupted;
  if (name === 'ConfigError' || name === 'ManifestError') return ExitCode.usage;
  if (name === 'PodLookupError') return ExitCode.notFound;
  // A part of a sync: that an image is not found does not mean that the pod is not.
  const deadline = error instanceof Error && error.cause instanceof CriCallError && error.cause.code === status.DEADLINE_EXCEEDED;
  if (deadline) return ExitCode.timedOut;
  return ExitCode.failed;
}

function callExitCode(error: CriCallError): number {
  if (error.code === status.NOT_FOUND) return ExitCode.notFound;
  return error.code === status.DEADLINE_EXCEEDED ? ExitCode.timedOut : ExitCode.failed;
}
