/*
 * Fills a registry's storage directory with images:
 *   node test-e2e/dist/images/fill-registry.js example|suite|bench PACKAGES_DIRECTORY REGISTRY_PROGRAM STORAGE_DIRECTORY
 *   node test-e2e/dist/images/fill-registry.js kubernetes PACKAGES_DIRECTORY REGISTRY_PROGRAM STORAGE_DIRECTORY \
 *     PROGRAMS_DIRECTORY COREDNS_DIRECTORY COREDNS_VERSION
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRegistry } from '../harness/registry.js';
import { benchImages } from './bench-images.js';
import { buildImages } from './build-images.js';
import { exampleImages } from './example-images.js';
import type { ImageDefinition } from './image-set.js';
import { kubernetesImages } from './kubernetes-images.js';
import { suiteImages } from './suite-images.js';

function imagesOf(set: string | undefined, more: readonly string[]): readonly ImageDefinition[] | undefined {
  if (set === 'example') return exampleImages;
  if (set === 'suite') return suiteImages;
  if (set === 'bench') return [...suiteImages, ...benchImages];
  const [images, coredns, corednsVersion] = more;
  if (set !== 'kubernetes' || images === undefined || coredns === undefined || corednsVersion === undefined) return undefined;
  return kubernetesImages({ images, coredns, corednsVersion });
}

const [set, packages, program, storage, ...more] = process.argv.slice(2);
const images = imagesOf(set, more);
if (images === undefined || packages === undefined || program === undefined || storage === undefined) {
  throw new Error('usage: fill-registry example|suite|bench|kubernetes PACKAGES_DIRECTORY REGISTRY_PROGRAM STORAGE_DIRECTORY [PROGRAMS COREDNS VERSION]');
}
const scratch = await mkdtemp(join(tmpdir(), 'criquet-registry-'));
const registry = await startRegistry({ program, storage, directory: scratch, writable: true });
try {
  for (const { reference, digest } of await buildImages(images, packages, registry.url)) {
    console.log(`${reference} ${digest}`);
  }
} finally {
  await registry.daemon.stop();
  await rm(scratch, { recursive: true, force: true });
}
