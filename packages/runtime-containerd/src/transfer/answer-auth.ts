import { AuthRequest, AuthResponse, AuthType } from '../gen/types/transfer/registry.js';
import type { NamedStream } from '../services/streaming.js';
import type { PullCredentials, PullRequest } from './pull-request.js';

const AUTH_REQUEST = 'containerd.types.transfer.AuthRequest';
const AUTH_RESPONSE = 'containerd.types.transfer.AuthResponse';

/**
 * Answers containerd's questions for credentials until the stream is closed. Every question is answered, with "none" when
 * the caller's function fails: containerd waits for an answer even after the pull is cancelled.
 *
 * @param onFailure told what `credentials` throws
 */
export async function answerAuth(
  stream: NamedStream,
  credentials: NonNullable<PullRequest['credentials']>,
  onFailure: (error: Error) => void,
): Promise<void> {
  for await (const message of stream.messages) {
    if (message.typeUrl !== AUTH_REQUEST) continue;
    const { host, reference } = AuthRequest.decode(message.value);
    let found: PullCredentials | undefined;
    try {
      found = await credentials(host, reference);
    } catch (error) {
      onFailure(error instanceof Error ? error : new Error(String(error)));
    }
    stream.send({ typeUrl: AUTH_RESPONSE, value: AuthResponse.encode(AuthResponse.fromPartial(response(found))).finish() });
  }
}

function response(credentials: PullCredentials | undefined): Partial<AuthResponse> {
  if (credentials === undefined) return {};
  return credentials.kind === 'password'
    ? { authType: AuthType.CREDENTIALS, username: credentials.username, secret: credentials.password }
    : { authType: AuthType.REFRESH, secret: credentials.token };
}
