import { createHash } from 'node:crypto';
import type { CallOptions } from '../call-options.js';
import { isNotFound } from '../errors.js';
import { hostPlatform } from '../host-platform.js';
import { isIndex, isManifest, type ImageConfig, type ImageManifest, type OciDescriptor } from '../oci/image-spec.js';
import { BlobTooLarge, type Content } from '../services/content.js';
import type { Descriptor } from '../services/images.js';
import type { Platform } from '../services/introspection.js';
import { asConfig, asIndex, asManifest } from './documents.js';
import { ImageIncomplete, ImageInvalid, PlatformMissing } from './image-errors.js';
import { choosePlatform } from './platform.js';

/** What an image name stands for on one platform. */
export interface ResolvedImage {
  readonly manifest: ImageManifest;
  readonly manifestDigest: string;
  readonly config: ImageConfig;
  /** The digest of the config: the image's id. */
  readonly configDigest: string;
  /** Key of the snapshot that holds all layers; '' for an image without layers. */
  readonly chainId: string;
  /** Bytes: the compressed layers, config and manifest, and the index where the name stands for one. */
  readonly size: bigint;
  readonly layers: readonly Descriptor[];
}

/** An index may list indexes; nobody nests them deeper. */
const MAX_DEPTH = 4;

/**
 * Reads an image's documents from the content store. A pull of an index without this platform ends well and stores
 * nothing but the index, so this is also the test of a pull.
 *
 * It does not look for the snapshot (`snapshots.stat(snapshotter, chainId)`), nor for the layers, which containerd may have
 * discarded after unpacking.
 *
 * @param target the image record's
 * @param platform default: this machine's
 * @throws PlatformMissing the index has nothing for the platform
 * @throws ImageIncomplete a document is not in the content store
 * @throws ImageInvalid a document is not what it should be
 */
export async function resolveImage(
  content: Pick<Content, 'readAll'>,
  target: Descriptor,
  platform: Platform = hostPlatform(),
  options: CallOptions = {},
): Promise<ResolvedImage> {
  const read = async (digest: string) => {
    try {
      return await content.readAll(digest, options);
    } catch (error) {
      if (isNotFound(error)) throw new ImageIncomplete(target.digest, digest, { cause: error });
      if (error instanceof BlobTooLarge) throw new ImageInvalid(digest, `a document larger than ${error.maxBytes} bytes`, { cause: error });
      throw error;
    }
  };
  let { digest, mediaType } = target;
  let size = target.size;
  for (let depth = 0; isIndex(mediaType); depth++) {
    if (depth === MAX_DEPTH) throw new ImageInvalid(digest, `indexes nested deeper than ${MAX_DEPTH}`);
    const { manifests } = asIndex(digest, await read(digest));
    const chosen = await choosePlatform(manifests, platform, async (manifest) => {
      const { config } = asManifest(manifest.digest, await read(manifest.digest));
      return asConfig(config.digest, await read(config.digest));
    });
    if (chosen === undefined) throw new PlatformMissing(target.digest, platform, manifests);
    ({ digest, mediaType } = chosen);
    size += BigInt(chosen.size);
  }
  if (!isManifest(mediaType)) throw new ImageInvalid(digest, `media type ${mediaType || '""'} is neither an index nor a manifest`);
  const manifest = asManifest(digest, await read(digest));
  const config = asConfig(manifest.config.digest, await read(manifest.config.digest));
  for (const part of [manifest.config, ...manifest.layers]) size += BigInt(part.size);
  return {
    manifest,
    manifestDigest: digest,
    config,
    configDigest: manifest.config.digest,
    chainId: chainId(config.rootfs.diff_ids),
    size,
    layers: manifest.layers.map(descriptor),
  };
}

/** The OCI chain id of uncompressed layers (image-spec config.md, "Layer ChainID"); '' for none. */
export function chainId(diffIds: readonly string[]): string {
  const [first = '', ...rest] = diffIds;
  return rest.reduce((chain, diff) => `sha256:${createHash('sha256').update(`${chain} ${diff}`).digest('hex')}`, first);
}

function descriptor({ mediaType, digest, size, annotations = {} }: OciDescriptor): Descriptor {
  return { mediaType, digest, size: BigInt(size), annotations };
}
