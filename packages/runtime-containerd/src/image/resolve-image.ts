import type { ImageConfig, ImageManifest } from '../oci/image-spec.js';
import type { Descriptor } from '../services/images.js';

/** What an image name stands for on one platform. */
export interface ResolvedImage {
  readonly manifest: ImageManifest;
  readonly manifestDigest: string;
  readonly config: ImageConfig;
  /** The digest of the config: the image's id. */
  readonly configDigest: string;
  /** Key of the snapshot that holds all layers; '' for an image without layers. */
  readonly chainId: string;
  /** Bytes: the compressed layers, config, manifest and (for an index) the index. */
  readonly size: bigint;
  readonly layers: readonly Descriptor[];
}
