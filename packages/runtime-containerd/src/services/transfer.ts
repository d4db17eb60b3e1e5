import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { TransferService } from '../gen/services/transfer/v1/transfer.js';
import { toWireAny } from '../grpc/any.js';
import type { Channel } from '../grpc/channel.js';
import { pullImage } from '../transfer/pull-image.js';
import type { PullRequest } from '../transfer/pull-request.js';
import type { Content } from './content.js';
import type { Streaming } from './streaming.js';

/** The transfer service (containerd.services.transfer.v1). */
export interface Transfer {
  /** Moves `source` to `destination`. No deadline unless `timeoutMs` is given. */
  transfer(source: Any, destination: Any, options?: CallOptions & { readonly progressStream?: string }): Promise<void>;
  /**
   * Pulls an image: registry to content store to snapshots, under the lease that the request names. The caller
   * creates that lease before and deletes it after, also when the pull fails or is cancelled: it holds the unfinished ingests.
   *
   * An index that has nothing for the platform ends without an error and without layers: check with `resolveImage`.
   * @throws ContainerdError with containerd's code: NOT_FOUND (404), UNKNOWN (401, 403, 429, 5xx, refused: the status is in
   *   `details`), FAILED_PRECONDITION (digest mismatch), INVALID_ARGUMENT (snapshotter not configured for unpacking), CANCELLED
   * @throws PullStalled when no byte of a layer that was downloading arrived for `noProgressTimeoutMs`
   */
  pullImage(request: PullRequest, options?: Pick<CallOptions, 'signal' | 'timeoutMs' | 'namespace'>): Promise<void>;
}

export function transferService(channel: Channel, streaming: Streaming, content: Content): Transfer {
  const service: Transfer = {
    async transfer(source, destination, { progressStream, ...options } = {}) {
      const request = {
        source: toWireAny(source),
        destination: toWireAny(destination),
        options: progressStream === undefined ? undefined : { progressStream },
      };
      await channel.unary(TransferService.transfer, request, options, 0);
    },
    pullImage: (request, options) => pullImage({ transfer: service, streaming, content }, request, options),
  };
  return service;
}
