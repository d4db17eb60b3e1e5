import { mkdir, rm } from 'node:fs/promises';
import type { LayerDefinition } from './image-set.js';
import { packLayer, type Layer } from './oci-image.js';
import { RootDirectory, type UnpackedPackages } from './root-directory.js';

/**
 * Lays out a layer and packs it.
 *
 * @param path a directory that is not there yet; it and `${path}.tar` are gone afterwards
 */
export async function buildLayer(definition: LayerDefinition, path: string, packages: UnpackedPackages): Promise<Layer> {
  await mkdir(path);
  await definition.layOut(new RootDirectory(path, packages));
  const packed = await packLayer(path, `${path}.tar`);
  await rm(path, { recursive: true });
  await rm(`${path}.tar`);
  return packed;
}
