import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { failedPrecondition } from '../errors.js';

/**
 * The hosts that a pull from `domain` may reach by the hosts.toml directory: mirrors, and the server itself. containerd looks for the
 * registry's own directory (with `:port` written as `_port_` as well) and then for `_default`; without either only the
 * registry is asked.
 *
 * @throws FAILED_PRECONDITION naming a file that cannot be read
 */
export async function registryHosts(hostsDir: string, domain: string): Promise<string[]> {
  if (hostsDir === '') return [domain];
  for (const name of [domain, domain.replace(/:(\d+)$/, '_$1_'), '_default']) {
    const file = join(hostsDir, name, 'hosts.toml');
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
      throw failedPrecondition(`${file}: ${error.message}`);
    });
    if (text !== undefined) return hostsOf(text, file, domain);
  }
  return [domain];
}

function hostsOf(text: string, file: string, domain: string): string[] {
  try {
    const { server, host } = parse(text) as { server?: unknown; host?: unknown };
    const urls = host !== null && typeof host === 'object' ? Object.keys(host) : [];
    const last = typeof server === 'string' ? server : domain;
    return [...urls, last].map((url) => new URL(url.includes('://') ? url : `https://${url}`).host);
  } catch (error) {
    // What follows the first line quotes the file, which may hold a registry's password in a header.
    throw failedPrecondition(`${file}: ${(error as Error).message.split('\n')[0]}`);
  }
}
