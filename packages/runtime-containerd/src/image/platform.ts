import type { ImageConfig, OciDescriptor } from '../oci/image-spec.js';

interface PlatformName {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** `linux/arm64/v8`. */
export function formatPlatform({ os, architecture, variant = '' }: PlatformName): string {
  return [os, architecture, variant].filter((part) => part !== '').join('/');
}

/**
 * The manifest of an index that fits a machine best: same system and architecture, and the highest variant that it can
 * run. A manifest without a platform is judged by its config.
 */
export async function choosePlatform(
  manifests: readonly OciDescriptor[],
  wanted: PlatformName,
  readConfig: (manifest: OciDescriptor) => Promise<ImageConfig>,
): Promise<OciDescriptor | undefined> {
  let best: { readonly manifest: OciDescriptor; readonly level: number } | undefined;
  for (const manifest of manifests) {
    // A nested index without a platform of its own cannot be judged by a config.
    const platform = manifest.platform ?? (manifest.mediaType.includes('manifest.') ? await platformOf(manifest, readConfig) : undefined);
    if (platform === undefined || platform.os !== wanted.os || platform.architecture !== wanted.architecture) continue;
    const level = variantLevel(platform);
    if (level <= variantLevel(wanted) && level > (best?.level ?? -1)) best = { manifest, level };
  }
  return best?.manifest;
}

async function platformOf(
  manifest: OciDescriptor,
  readConfig: (manifest: OciDescriptor) => Promise<ImageConfig>,
): Promise<PlatformName | undefined> {
  try {
    return await readConfig(manifest);
  } catch {
    // Not stored (another platform's) or not an image at all: it is not a candidate.
    return undefined;
  }
}

/** `v7` is 7; without a variant it is what the architecture's first or only one means. */
function variantLevel({ architecture, variant = '' }: PlatformName): number {
  if (variant === '') return architecture === 'arm64' ? 8 : architecture === 'arm' ? 7 : 1;
  return Number.parseInt(variant.replace(/^v/, ''), 10) || 0;
}
