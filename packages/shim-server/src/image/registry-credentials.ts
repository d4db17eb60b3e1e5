import type { AuthConfig } from '@criquet/cri-api';
import type { PullCredentials } from '@criquet/runtime-containerd';
import { invalidArgument } from '../errors.js';

/** Names under which Docker Hub goes: in references, in stored logins, and on the wire. */
const DOCKER_HUB = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);

/**
 * The credentials of a CRI AuthConfig, for the hosts they are for: the one `server_address` names, or, when it names none, whichever
 * host of the reference asks. `auth` is base64 of `user:password`. A `registry_token` is not among them: see {@link registryToken}.
 *
 * @throws INVALID_ARGUMENT when `auth` cannot be read; the message never holds what it says
 */
export function credentialsFor(auth: AuthConfig | undefined): ((host: string) => PullCredentials | undefined) | undefined {
  const credentials = auth === undefined ? undefined : read(auth);
  if (auth === undefined || credentials === undefined) return undefined;
  const server = serverHost(auth.serverAddress);
  return (host) => (server === undefined || sameRegistry(server, host) ? credentials : undefined);
}

/** The bearer token that the caller obtained itself; undefined when there is none. */
export function registryToken(auth: AuthConfig | undefined): string | undefined {
  return auth?.registryToken ? auth.registryToken : undefined;
}

export function sameRegistry(a: string, b: string): boolean {
  const [left, right] = [a, b].map((host) => host.replace(/:443$/, ''));
  return left === right || (DOCKER_HUB.has(a) && DOCKER_HUB.has(b));
}

function read(auth: AuthConfig): PullCredentials | undefined {
  if (auth.username !== '') return { kind: 'password', username: auth.username, password: auth.password };
  if (auth.identityToken !== '') return { kind: 'identity-token', token: auth.identityToken };
  if (auth.auth === '') return undefined;
  const text = Buffer.from(auth.auth, 'base64').toString('utf8').replace(/\0+$/, '');
  const colon = text.indexOf(':');
  if (colon === -1) throw invalidArgument('auth.auth', 'is not base64 of "user:password"');
  return { kind: 'password', username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** `https://index.docker.io/v1/`, `quay.io`, `localhost:5000`. */
function serverHost(address: string): string | undefined {
  if (address === '') return undefined;
  const withScheme = address.includes('://') ? address : `https://${address}`;
  try {
    return new URL(withScheme).host;
  } catch {
    throw invalidArgument('auth.server_address', `${JSON.stringify(address)} is no address of a registry`);
  }
}
