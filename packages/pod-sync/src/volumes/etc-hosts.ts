import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { HostAlias } from '../manifest/pod.js';

/** What a pod's /etc/hosts says. */
export interface HostsContent {
  readonly podIps: readonly string[];
  readonly hostname: string;
  /** The domain of a pod with a subdomain, or "". */
  readonly domain: string;
  readonly aliases: readonly HostAlias[];
  /** A pod in the node's network begins with the node's own file. */
  readonly hostNetwork: boolean;
}

const LOCAL = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** The text of the file. */
export function renderHosts(content: HostsContent, nodeHosts: string): string {
  const own = content.podIps.map((ip) => [ip, content.domain && `${content.hostname}.${content.domain}`, content.hostname].filter(Boolean).join('\t'));
  const base = content.hostNetwork ? [nodeHosts.trimEnd()] : [...LOCAL, ...own];
  const aliases = content.aliases.map((alias) => [alias.ip, ...alias.hostnames].join('\t'));
  const added = aliases.length === 0 ? [] : ['', "# From the pod's hostAliases.", ...aliases];
  return `${['# Written for this pod; changes are lost.', ...base, ...added].join('\n')}\n`;
}

/** Writes the file of a pod. */
export async function writeHosts(path: string, content: HostsContent): Promise<void> {
  const nodeHosts = content.hostNetwork ? await readFile('/etc/hosts', 'utf8').catch(() => LOCAL.join('\n')) : '';
  await mkdir(dirname(path), { recursive: true, mode: 0o750 });
  await writeFile(path, renderHosts(content, nodeHosts), { mode: 0o644 });
}
