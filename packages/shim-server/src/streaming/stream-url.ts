import { status } from '@grpc/grpc-js';
import { resourceExhausted, ShimError } from '../errors.js';
import type { StreamServer, StreamTarget } from './stream-server.js';

/** @throws RESOURCE_EXHAUSTED when too many streams are open or too many URLs wait for their client, UNAVAILABLE while nobody could use one */
export function streamUrl(server: StreamServer, target: StreamTarget): string {
  const { listening, error = '' } = server.state;
  if (!listening) throw new ShimError(status.UNAVAILABLE, `the streaming server does not listen: ${error}`);
  server.requireRoom();
  const url = server.url(target);
  if (url === undefined) {
    throw resourceExhausted('too many exec, attach and port-forward requests wait for their client', 'streaming.token_limit', server.tokenLimit);
  }
  return url;
}
