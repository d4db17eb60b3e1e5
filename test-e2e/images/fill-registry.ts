/*
 * Fills a registry's storage directory with images:
 *   node test-e2e/dist/images/fill-registry.js example|suite PACKAGES_DIRECTORY REGISTRY_PROGRAM STORAGE_DIRECTORY
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRegistry } from '../harness/registry.js';
import { buildImages } from './build-images.js';
import { exampleImages } from './example-images.js';
import { suiteImages } from './suite-images.js';

const sets = { example: exampleImages, suite: suiteImages };

const [set, packages, program, storage] = process.argv.slice(2);
if ((set !== 'example' && set !== 'suite') || packages === undefined || program === undefined || storage === undefined) {
  throw new Error('usage: fill-registry example|suite PACKAGES_DIRECTORY REGISTRY_PROGRAM STORAGE_DIRECTORY');
}
const scratch = await mkdtemp(join(tmpdir(), 'criquet-registry-'));
const registry = await startRegistry({ program, storage, directory: scratch, writable: true });
try {
  for (const { reference, digest } of await buildImages(sets[set], packages, registry.url)) {
    console.log(`${reference} ${digest}`);
  }
} finally {
  await registry.daemon.stop();
  await rm(scratch, { recursive: true, force: true });
}
