import { invalidArgument } from '../errors.js';

/** A normalised image reference. */
export interface Reference {
  /** Registry host, with its port. */
  readonly domain: string;
  readonly path: string;
  readonly tag?: string;
  /** `sha256:…` */
  readonly digest?: string;
}

const DEFAULT_DOMAIN = 'docker.io';
const DEFAULT_TAG = 'latest';
const HOST = /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::\d+)?$/;
const PATH = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
/** The algorithms that are registered (OCI image-spec descriptor.md), with the length of their digests. */
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$/;
/** Of the path (distribution `reference.RepositoryNameTotalLengthMax`). */
const MAX_PATH = 255;

/** An image id, with or without its algorithm. */
const ID = /^(?:sha256:)?[0-9a-f]{64}$/;

/** The form in which images are named everywhere in criquet and containerd: `docker.io/library/busybox:latest`. */
export function formatReference(reference: Reference): string {
  const name = repository(reference);
  // With a digest the tag says nothing: the digest alone decides what is pulled.
  return reference.digest === undefined ? `${name}:${reference.tag ?? DEFAULT_TAG}` : `${name}@${reference.digest}`;
}

/** Domain and path. */
export function repository(reference: Reference): string {
  return `${reference.domain}/${reference.path}`;
}

/**
 * Reads a reference as users write it (`busybox`, `quay.io/a/b:1`, `a@sha256:…`) by the rules of the distribution
 * reference grammar; a name without a registry is one on Docker Hub.
 *
 * @throws INVALID_ARGUMENT naming `field`
 */
export function parseReference(text: string, field = 'image.image'): Reference {
  const refuse = (why: string) => invalidArgument(field, `${JSON.stringify(text)}: ${why}`);
  const [beforeDigest = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) throw refuse('is no valid digest');
  const slash = beforeDigest.lastIndexOf('/');
  const colon = beforeDigest.indexOf(':', slash + 1);
  const name = colon === -1 ? beforeDigest : beforeDigest.slice(0, colon);
  const tag = colon === -1 ? undefined : beforeDigest.slice(colon + 1);
  if (tag !== undefined && !TAG.test(tag)) throw refuse('is no valid tag');
  const [first = '', ...rest] = name.split('/');
  const hasDomain = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const domain = hasDomain ? (first === 'index.docker.io' ? DEFAULT_DOMAIN : first) : DEFAULT_DOMAIN;
  const path = hasDomain ? rest.join('/') : name;
  if (!HOST.test(domain) || !PATH.test(path) || path.length > MAX_PATH) throw refuse('is no image reference');
  if (ID.test(text)) throw refuse('is an image id');
  return {
    domain,
    path: domain === DEFAULT_DOMAIN && !path.includes('/') ? `library/${path}` : path,
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** The image's id in full form when `text` is one, `sha256:<64 hex>` or the bare 64 digits. */
export function asImageId(text: string): string | undefined {
  if (!ID.test(text)) return undefined;
  return text.startsWith('sha256:') ? text : `sha256:${text}`;
}

/** {@link parseReference} that answers undefined for what is no reference. */
export function tryParseReference(text: string): Reference | undefined {
  try {
    return parseReference(text);
  } catch {
    return undefined;
  }
}
