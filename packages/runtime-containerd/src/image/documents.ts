import type { ImageConfig, ImageIndex, ImageManifest } from '../oci/image-spec.js';
import { ImageInvalid } from './image-errors.js';

/** @throws ImageInvalid */
export function asIndex(digest: string, bytes: Buffer): ImageIndex {
  const document = parse(digest, bytes);
  if (!areDescriptors(document.manifests)) throw new ImageInvalid(digest, 'an index without a list of manifests');
  return document as unknown as ImageIndex;
}

/** @throws ImageInvalid */
export function asManifest(digest: string, bytes: Buffer): ImageManifest {
  const document = parse(digest, bytes);
  if (!isDescriptor(document.config)) throw new ImageInvalid(digest, 'a manifest without a config');
  const layers = document.layers ?? [];
  if (!areDescriptors(layers)) throw new ImageInvalid(digest, 'a manifest whose layers are not descriptors');
  return { ...document, layers } as unknown as ImageManifest;
}

/** @throws ImageInvalid */
export function asConfig(digest: string, bytes: Buffer): ImageConfig {
  const document = parse(digest, bytes);
  const { rootfs, os, architecture } = document;
  if (typeof os !== 'string' || typeof architecture !== 'string') throw new ImageInvalid(digest, 'a config without a platform');
  const diffIds = isObject(rootfs) ? (rootfs.diff_ids ?? []) : undefined;
  if (!Array.isArray(diffIds) || !diffIds.every((id) => typeof id === 'string')) {
    throw new ImageInvalid(digest, 'a config without rootfs.diff_ids');
  }
  return { ...document, rootfs: { type: 'layers', ...(rootfs as object), diff_ids: diffIds } } as unknown as ImageConfig;
}

function parse(digest: string, bytes: Buffer): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new ImageInvalid(digest, 'not JSON', { cause: error });
  }
  if (!isObject(document)) throw new ImageInvalid(digest, 'not a JSON object');
  return document;
}

function areDescriptors(value: unknown): boolean {
  return Array.isArray(value) && value.every(isDescriptor);
}

function isDescriptor(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value.digest === 'string' &&
    typeof value.mediaType === 'string' &&
    Number.isSafeInteger(value.size) &&
    Number(value.size) >= 0
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
