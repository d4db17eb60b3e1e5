import { AuthConfig } from '@criquet/cri-api';
import { registryOf } from '../manifest/image-reference.js';
import type { ConfigObject, Manifest } from '../manifest/pod.js';

interface DockerAuth {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly auth?: unknown;
  readonly identitytoken?: unknown;
}

/**
 * Credentials for an image out of the pod's imagePullSecrets, in their order: of type kubernetes.io/dockerconfigjson or
 * kubernetes.io/dockercfg, matched by registry host. A Secret that is not there or not readable gives none, as with the kubelet.
 */
export function pullCredentials(manifest: Manifest, image: string): AuthConfig[] {
  const registry = registryOf(image);
  return manifest.pod.spec.imagePullSecrets.flatMap((name) => {
    const secret = manifest.secrets.get(name);
    const auths = secret === undefined ? {} : readAuths(secret);
    return Object.entries(auths).flatMap(([server, auth]) => (hostOf(server) === registry ? [authConfig(server, auth)] : []));
  });
}

function readAuths(secret: ConfigObject): Record<string, DockerAuth> {
  const json = secret.data['.dockerconfigjson'];
  const legacy = secret.data['.dockercfg'];
  if (json !== undefined) return parse(json)?.auths ?? {};
  return legacy === undefined ? {} : ((parse(legacy) as Record<string, DockerAuth> | undefined) ?? {});
}

function parse(data: Buffer): { auths?: Record<string, DockerAuth> } | undefined {
  try {
    const value: unknown = JSON.parse(data.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `https://index.docker.io/v1/` and `docker.io` mean the same registry. */
function hostOf(server: string): string {
  const host = server.replace(/^https?:\/\//, '').split('/')[0] ?? '';
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? 'docker.io' : host;
}

function authConfig(server: string, auth: DockerAuth): AuthConfig {
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return AuthConfig.fromPartial({
    username: text(auth.username),
    password: text(auth.password),
    auth: text(auth.auth),
    identityToken: text(auth.identitytoken),
    serverAddress: server,
  });
}
