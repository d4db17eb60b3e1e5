import { status } from '@grpc/grpc-js';
import { CniError } from '@criquet/network-cni';
import { ContainerdError } from '@criquet/runtime-containerd';
import { hasNoRoom, ShimError } from '../errors.js';
import { statusMessage } from './status-message.js';

/** What a gRPC caller is told of an error. */
export interface Status {
  readonly code: status;
  readonly message: string;
}

/** CNI specification, section 5: "try again later", and the two that STATUS answers while no pod can be attached. */
const CNI_TRANSIENT = new Set([11, 50, 51]);

/** The one place where an error becomes a gRPC status. */
export function toStatus(error: unknown): Status {
  const { code, message } = unbounded(error);
  return { code, message: statusMessage(message) };
}

function unbounded(error: unknown): Status {
  if (error instanceof ShimError) {
    const { code, message, reason } = error;
    return { code, message: reason === undefined ? message : `${reason}: ${message}` };
  }
  if (error instanceof ContainerdError) {
    return { code: error.code, message: `containerd ${error.call}: ${error.details}` };
  }
  if (error instanceof CniError) {
    return { code: CNI_TRANSIENT.has(error.code) ? status.UNAVAILABLE : status.INTERNAL, message: error.message };
  }
  if (error instanceof Error) {
    if (error.name === 'TimeoutError') return { code: status.DEADLINE_EXCEEDED, message: 'deadline exceeded' };
    if (error.name === 'AbortError') return { code: status.CANCELLED, message: 'cancelled by the caller' };
    return { code: hasNoRoom(error) ? status.RESOURCE_EXHAUSTED : status.INTERNAL, message: error.message };
  }
  return { code: status.UNKNOWN, message: String(error) };
}
