import type { ImagePullPolicy } from './pod.js';

/** Whether a reference names its content: `busybox@sha256:…`. */
function digestOf(image: string): string | undefined {
  return /@([a-z0-9+._-]+:[0-9a-f]+)$/.exec(image)?.[1];
}

function tagOf(image: string): string | undefined {
  return /:([\w][\w.-]{0,127})$/.exec(image.replace(/@.*$/, ''))?.[1];
}

/** The API server's default: Always for `latest` and for no tag at all, else IfNotPresent. */
export function defaultPullPolicy(image: string): ImagePullPolicy {
  if (digestOf(image) !== undefined) return 'IfNotPresent';
  return (tagOf(image) ?? 'latest') === 'latest' ? 'Always' : 'IfNotPresent';
}

/** The reference that is pulled: with `:latest` where there is neither tag nor digest. */
export function withDefaultTag(image: string): string {
  return tagOf(image) === undefined && digestOf(image) === undefined ? `${image}:latest` : image;
}

/** The registry of a reference, as credentials name it: `docker.io` for a short name. */
export function registryOf(image: string): string {
  const first = image.split('/')[0] ?? '';
  const named = image.includes('/') && (first.includes('.') || first.includes(':') || first === 'localhost');
  return named ? first : 'docker.io';
}
