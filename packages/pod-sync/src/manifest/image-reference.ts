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

const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:]+\])(?::\d+)?$/;
const COMPONENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
/** Of the repository, without its registry (distribution `reference.RepositoryNameTotalLengthMax`). */
const MAX_REPOSITORY = 255;

/** What is wrong with a reference by the grammar of the distribution project, `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`; undefined: nothing. */
export function referenceProblem(image: string): string | undefined {
  const [beforeDigest = '', digest, ...more] = image.split('@');
  if (more.length > 0 || (digest !== undefined && !/^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/.test(digest))) {
    return 'a digest is an algorithm and hexadecimal digits, such as sha256:…';
  }
  const [, name = '', tag] = /^(.*?)(?::([^/:]*))?$/s.exec(beforeDigest) ?? [];
  if (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag)) return 'a tag has at most 128 letters, digits, "_", "." and "-"';
  const components = name.split('/');
  const [first = ''] = components;
  const named = components.length > 1 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  if (named && !HOST.test(first)) return `${JSON.stringify(first)} is not a registry host`;
  const path = named ? components.slice(1) : components;
  if (path.some((component) => component !== component.toLowerCase())) return 'a repository has lower-case letters only';
  if (!path.every((component) => COMPONENT.test(component))) return 'a repository has lower-case letters and digits, between them ".", "_", "__" or "-"';
  return path.join('/').length > MAX_REPOSITORY ? `a repository has at most ${MAX_REPOSITORY} characters` : undefined;
}
