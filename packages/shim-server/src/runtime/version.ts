import { VersionResponse, type VersionRequest } from '@criquet/cri-api';
import { Lifecycle, scoped } from 'tsyringe';
import type { UnaryCall } from '../grpc/call-context.js';
import { EncodedReply } from '../grpc/encoded-reply.js';

/** This release of criquet; the packages' versions follow it. */
export const CRIQUET_VERSION = '0.1.0';

/** The kubelet API version: the kubelet refuses any other value. */
const KUBELET_API_VERSION = '0.1.0';

/** CRI Version. */
@scoped(Lifecycle.ContainerScoped)
export class Version {
  /** Never another: encoded once. */
  private readonly reply = EncodedReply.of(VersionResponse, {
    version: KUBELET_API_VERSION,
    runtimeName: 'criquet',
    runtimeVersion: CRIQUET_VERSION,
    runtimeApiVersion: 'v1',
  });

  readonly handle: UnaryCall<VersionRequest, VersionResponse> = () => Promise.resolve(this.reply);
}
