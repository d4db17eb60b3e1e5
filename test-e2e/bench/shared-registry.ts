import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readEnvironment } from '../harness/environment.js';
import { startRegistry, type Registry } from '../harness/registry.js';

/** A registry for both nodes, with the image that is pulled where it was provided. */
export async function sharedRegistry(): Promise<Registry & AsyncDisposable> {
  const { root, registryProgram: program, registryStorage, benchRegistryStorage } = readEnvironment();
  const directory = await mkdtemp(join(root, 'bench-registry-'));
  const registry = await startRegistry({ program, storage: benchRegistryStorage ?? registryStorage, directory });
  return {
    ...registry,
    async [Symbol.asyncDispose]() {
      await registry.daemon.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
