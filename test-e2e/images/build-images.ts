import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLayer } from './build-layer.js';
import type { ImageDefinition, LayerDefinition } from './image-set.js';
import { composeImage, type Layer } from './oci-image.js';
import { pushImage } from './push.js';
import { openPackages } from './root-directory.js';

/** What was pushed: reference without host, and digest. */
export interface PushedImage {
  readonly reference: string;
  readonly digest: string;
}

/**
 * Builds images from unpacked packages and pushes them.
 *
 * @param packagesDirectory as `scripts/lib/image-packages.sh` fills it
 * @param registry base URL of the registry
 */
export async function buildImages(
  images: readonly ImageDefinition[],
  packagesDirectory: string,
  registry: string,
): Promise<PushedImage[]> {
  const packages = await openPackages(packagesDirectory);
  const scratch = await mkdtemp(join(tmpdir(), 'criquet-images-'));
  const built = new Map<string, Layer>();
  const layer = async (definition: LayerDefinition): Promise<Layer> => {
    const known = built.get(definition.name);
    if (known !== undefined) return known;
    const packed = await buildLayer(definition, join(scratch, `layer-${built.size}`), packages);
    built.set(definition.name, packed);
    return packed;
  };
  try {
    const pushed: PushedImage[] = [];
    for (const image of images) {
      const layers: Layer[] = [];
      for (const definition of image.layers) layers.push(await layer(definition));
      const composed = composeImage(layers, image.config, image.form);
      for (const reference of image.references) {
        const colon = reference.lastIndexOf(':');
        const digest = await pushImage(registry, reference.slice(0, colon), reference.slice(colon + 1), composed);
        pushed.push({ reference, digest });
      }
    }
    return pushed;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
