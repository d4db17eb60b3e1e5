import { status } from '@grpc/grpc-js';
import { ContainerdError, ImageIncomplete, ImageInvalid, PlatformMissing, PullStalled } from '@criquet/runtime-containerd';
import { ShimError, type CriReason } from '../errors.js';

const UNREACHABLE = /connection refused|no such host|i\/o timeout|connection reset|no route to host|network is unreachable|TLS handshake timeout|\bEOF\b|server gave HTTP response|(?:status|code)\D{0,24}5\d\d|\b5\d\d [A-Z]/;
const SIGNATURE = /signature (?:validation|verification)|verifier rejected|image verif/i;

/** containerd tells a registry's refusal only in the text of the error. */
const HTTP_STATUS: readonly (readonly [RegExp, status])[] = [
  [/\s401\b|unauthorized|authorization failed/i, status.UNAUTHENTICATED],
  [/\s403\b|forbidden/i, status.PERMISSION_DENIED],
  [/\s429\b|too many requests/i, status.RESOURCE_EXHAUSTED],
];

/** A failed pull as the kubelet and users understand it; `reference` is said in front. */
export function pullError(error: unknown, reference: string): unknown {
  if (error instanceof PullStalled) return unknown('RegistryUnavailable', reference, error.message, error);
  if (!(error instanceof ContainerdError)) return error;
  const { code, details } = error;
  const named = details.includes(reference) ? error : new ShimError(code, `${reference}: ${details}`, { cause: error });
  if (code !== status.UNKNOWN) return named;
  // Names and addresses may hold the same words and numbers as an answer.
  const said = details.replaceAll(reference, '').replace(/https?:\/\/[^\s"]+/g, '');
  if (SIGNATURE.test(said)) {
    return unknown('SignatureValidationFailed', reference, details, error);
  }
  for (const [pattern, mapped] of HTTP_STATUS) {
    if (pattern.test(said)) return new ShimError(mapped, `${reference}: ${details}`, { cause: error });
  }
  return UNREACHABLE.test(said) ? unknown('RegistryUnavailable', reference, details, error) : named;
}

/** Transfer unpacks only for the snapshotters of its own configuration (`unpack_config`). */
export function isUnpackConfigMissing(error: unknown): boolean {
  return error instanceof ContainerdError && error.code === status.INVALID_ARGUMENT && error.details.includes('unpacker');
}

/** What is wrong with an image that was pulled and cannot be used; undefined for an error that says nothing of the image. */
export function unusableImage(error: unknown, reference: string): ShimError | undefined {
  if (error instanceof PlatformMissing) {
    return new ShimError(status.NOT_FOUND, `image ${reference} is not there for this platform: ${error.message}`, { cause: error });
  }
  if (error instanceof ImageInvalid || error instanceof ImageIncomplete) {
    return new ShimError(status.FAILED_PRECONDITION, `image ${reference} cannot be used: ${error.message}`, { cause: error });
  }
  return undefined;
}

/** The kubelet looks for the reason of a failed pull where the code is UNKNOWN, and nowhere else. */
function unknown(reason: CriReason, reference: string, details: string, cause: Error): ShimError {
  return new ShimError(status.UNKNOWN, `${reference}: ${details}`, { cause, reason });
}
