import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readEnvironment, type Environment } from '../environment.js';
import { NodeNetwork } from '../node-network.js';
import { startRegistry, type Registry } from '../registry.js';

/** What the nodes of a suite share: their network, and a registry on it. Lives in the suite's own network namespace. */
export class Site {
  private constructor(
    readonly environment: Environment,
    /** For files of the suite that are no node's. */
    readonly directory: string,
    readonly network: NodeNetwork,
    readonly registry: Registry,
  ) {}

  /** @param storage directory of the registry's repositories. Default: that of the Kubernetes suites' images */
  static async open(storage?: string): Promise<Site> {
    const environment = readEnvironment();
    const directory = join(environment.root, `criquet-e2e-site-${randomBytes(4).toString('hex')}`);
    await mkdir(directory, { recursive: true });
    const network = await NodeNetwork.create();
    const registry = await startRegistry({
      program: environment.registryProgram,
      storage: storage ?? environment.kubernetesRegistryStorage ?? environment.registryStorage,
      directory,
      address: network.address,
    });
    return new Site(environment, directory, network, registry);
  }

  async close(): Promise<void> {
    await this.registry.daemon.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}
