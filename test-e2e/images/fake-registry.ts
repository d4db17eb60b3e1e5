import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildLayer } from './build-layer.js';
import type { ImageDefinition, LayerDefinition } from './image-set.js';
import { composeImage, type Layer } from './oci-image.js';

/**
 * A layer with what agnhost's `fake-registry-server` serves: an image below `var/registry`, as files named after their digests
 * (`NAME/blobs/sha256/0a/0a…/data`), and one named after the tag that holds the digest it stands for.
 *
 * @param name the image's name in that registry, of one part
 */
export function fakeRegistry(name: string, tag: string, image: ImageDefinition): LayerDefinition {
  return {
    name: `fake-registry-${name}-${tag}`,
    async layOut(root) {
      const scratch = await mkdtemp(join(tmpdir(), 'criquet-fake-registry-'));
      const layers: Layer[] = [];
      for (const [index, definition] of image.layers.entries()) {
        layers.push(await buildLayer(definition, join(scratch, `layer-${index}`), root.packages));
      }
      await rm(scratch, { recursive: true });
      const directory = join('var/registry', name);
      const { blobs, manifests } = composeImage(layers, image.config, image.form);
      for (const blob of blobs) await root.file(join(directory, 'blobs', pathOf(blob.digest)), blob.content);
      for (const manifest of manifests) await root.file(join(directory, 'manifests', pathOf(manifest.digest)), manifest.content);
      await root.file(join(directory, 'manifests', tag), `${manifests.at(-1)?.digest}\n`);
    },
  };
}

function pathOf(digest: string): string {
  const [algorithm = '', hash = ''] = digest.split(':');
  return join(algorithm, hash.slice(0, 2), hash, 'data');
}
