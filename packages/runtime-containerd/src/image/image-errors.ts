import type { OciDescriptor } from '../oci/image-spec.js';
import type { Platform } from '../services/introspection.js';
import { formatPlatform } from './platform.js';

/** An index has no manifest for the platform. */
export class PlatformMissing extends Error {
  override readonly name = 'PlatformMissing';

  constructor(
    /** The image's target. */
    readonly digest: string,
    readonly platform: Platform,
    manifests: readonly OciDescriptor[],
  ) {
    const there = manifests.flatMap((manifest) => (manifest.platform === undefined ? [] : [formatPlatform(manifest.platform)]));
    super(`image ${digest}: no manifest for ${formatPlatform(platform)}; it has ${there.join(', ') || 'none with a platform'}`);
  }
}

/** A document of the image is not in the content store. */
export class ImageIncomplete extends Error {
  override readonly name = 'ImageIncomplete';

  constructor(
    /** The image's target. */
    readonly digest: string,
    /** The document that is missing. */
    readonly missing: string,
    options?: ErrorOptions,
  ) {
    super(`image ${digest}: content ${missing} is missing`, options);
  }
}

/** A document of the image cannot be used. */
export class ImageInvalid extends Error {
  override readonly name = 'ImageInvalid';

  constructor(
    /** The document. */
    readonly digest: string,
    readonly problem: string,
    options?: ErrorOptions,
  ) {
    super(`image content ${digest}: ${problem}`, options);
  }
}
