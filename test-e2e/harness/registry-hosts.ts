import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Registry hosts that the suites' images are named under. `_default` is every other one. */
export const MIRRORED_HOSTS = ['registry.k8s.io', 'k8s.gcr.io', 'gcr.io', 'e2e.criquet.test', 'example.criquet.test', '_default'];

/**
 * Writes a directory of `hosts.toml` files that send every pull to one registry, and nowhere else.
 *
 * @param registry base URL, for example `http://127.0.0.1:5000`
 */
export async function writeRegistryHosts(directory: string, registry: string, hosts: readonly string[] = MIRRORED_HOSTS): Promise<void> {
  for (const host of hosts) {
    await mkdir(join(directory, host), { recursive: true });
    await writeFile(
      join(directory, host, 'hosts.toml'),
      `server = ${JSON.stringify(registry)}

[host.${JSON.stringify(registry)}]
  capabilities = ["pull", "resolve"]
`,
    );
  }
}
