import { status } from '@grpc/grpc-js';
import { ContainerdError } from '@criquet/runtime-containerd';
import { ShimError } from '../errors.js';

/** What the kubelet looks for at the beginning of a message with code UNKNOWN (k8s.io/cri-api `pkg/errors`). */
const REGISTRY_UNAVAILABLE = 'RegistryUnavailable';
const SIGNATURE_VALIDATION_FAILED = 'SignatureValidationFailed';

const UNREACHABLE = /connection refused|no such host|i\/o timeout|connection reset|no route to host|network is unreachable|TLS handshake timeout|\bEOF\b|server gave HTTP response|(?:status|code)\D{0,24}5\d\d|\b5\d\d [A-Z]/;
const SIGNATURE = /signature (?:validation|verification)|verifier rejected|image verif/i;

/** containerd tells a registry's refusal only in the text of the error. */
const HTTP_STATUS: readonly (readonly [RegExp, status])[] = [
  [/\b401\b|unauthorized|authorization failed/i, status.UNAUTHENTICATED],
  [/\b403\b|forbidden/i, status.PERMISSION_DENIED],
  [/\b429\b|too many requests/i, status.RESOURCE_EXHAUSTED],
];

/** A failed pull as the kubelet and users understand it; `reference` is said in front. */
export function pullError(error: unknown, reference: string): unknown {
  if (!(error instanceof ContainerdError) || error.code !== status.UNKNOWN) return error;
  const { details } = error;
  if (SIGNATURE.test(details)) {
    return new ShimError(status.UNKNOWN, `${SIGNATURE_VALIDATION_FAILED}: ${reference}: ${details}`, { cause: error });
  }
  for (const [pattern, code] of HTTP_STATUS) {
    if (pattern.test(details)) return new ShimError(code, `${reference}: ${details}`, { cause: error });
  }
  if (UNREACHABLE.test(details)) {
    return new ShimError(status.UNKNOWN, `${REGISTRY_UNAVAILABLE}: ${reference}: ${details}`, { cause: error });
  }
  return error;
}
