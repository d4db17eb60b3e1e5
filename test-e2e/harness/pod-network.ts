import { createHash } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, tryRun } from './run.js';

/** A bridge network of a node's own. */
export interface PodNetwork {
  /** The CNI network's name. */
  readonly name: string;
  readonly bridge: string;
  /** For example `10.88.17.0/24`. */
  readonly subnet: string;
  /** Others have a route to the subnet: what leaves it keeps its pod's address. Elsewhere it gets the node's. */
  readonly routed: boolean;
  readonly confDir: string;
  /** Where host-local keeps its reservations, one file an address. */
  readonly reservations: string;
}

/**
 * Writes a CNI configuration (bridge, host-local, portmap, and loopback as containerd's plugin wants it) under names that nothing
 * on this machine uses.
 *
 * @param wanted the pods' subnet, a /24 to which the caller has routes made. Default: one that no route of this machine leads to
 */
export async function writePodNetwork(directory: string, wanted?: string): Promise<PodNetwork> {
  const tag = createHash('sha256').update(directory).digest('hex').slice(0, 8);
  const subnet = wanted ?? (await freeSubnet(tag));
  const network: PodNetwork = {
    routed: wanted !== undefined,
    name: `e2e-${tag}`,
    bridge: `cq${tag}`,
    subnet,
    confDir: join(directory, 'cni-conf'),
    reservations: join(directory, 'cni-ipam', `e2e-${tag}`),
  };
  await mkdir(network.confDir, { recursive: true });
  await writeFile(join(network.confDir, '10-e2e.conflist'), JSON.stringify(conflist(network, join(directory, 'cni-ipam')), null, 2));
  return network;
}

/** The network's configuration list, for a test that changes it. */
export function conflist(network: PodNetwork, dataDir: string): object {
  return {
    cniVersion: '1.0.0',
    name: network.name,
    plugins: [
      {
        type: 'bridge',
        bridge: network.bridge,
        isGateway: true,
        ipMasq: !network.routed,
        hairpinMode: true,
        ipam: { type: 'host-local', ranges: [[{ subnet: network.subnet }]], routes: [{ dst: '0.0.0.0/0' }], dataDir },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

/** Reserved addresses of the network. */
export async function reservedAddresses(network: PodNetwork): Promise<string[]> {
  const names = await readdir(network.reservations).catch((): string[] => []);
  return names.filter((name) => /^[0-9a-f.:]+$/.test(name)).sort();
}

/** Takes away what CNI plugins leave by design: the bridge, and portmap's own empty chains where no rule is left in them. */
export async function removePodNetwork(network: PodNetwork): Promise<void> {
  await tryRun('ip', ['link', 'delete', network.bridge]);
  await removeMasquerading(network);
  await removeEmptyPortmapChains();
}

/** Deletes masquerading rules that name the network, and their chains. */
export async function removeMasquerading(network: PodNetwork): Promise<void> {
  const { stdout } = await tryRun('iptables-save', ['-t', 'nat']);
  for (const rule of stdout.split('\n').filter((line) => line.startsWith('-A POSTROUTING ') && line.includes(network.name))) {
    const chain = / -j (CNI-[0-9a-f]+)/.exec(rule)?.[1];
    if (chain === undefined) continue;
    for (const args of [ruleArguments(rule.replace(/^-A /, '-D ')), ['-F', chain], ['-X', chain]]) {
      await tryRun('iptables', ['-t', 'nat', '-w', '5', ...args]);
    }
  }
}

/** portmap makes these chains once and never removes them; the order is that of their references. */
const PORTMAP_CHAINS = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK'];

async function removeEmptyPortmapChains(): Promise<void> {
  for (const iptables of ['iptables', 'ip6tables']) {
    const saved = await tryRun(`${iptables}-save`, ['-t', 'nat']);
    if (saved.code !== 0) continue;
    const rules = saved.stdout.split('\n').filter((line) => line.startsWith('-A '));
    // A mapping of another pod's is a jump out of CNI-HOSTPORT-DNAT: then the chains are in use.
    if (rules.some((rule) => rule.startsWith('-A CNI-HOSTPORT-DNAT '))) continue;
    for (const rule of rules.filter((line) => / -j CNI-HOSTPORT-/.test(line))) {
      await tryRun(iptables, ['-t', 'nat', '-w', '5', ...ruleArguments(rule.replace(/^-A /, '-D '))]);
    }
    for (const chain of PORTMAP_CHAINS) {
      if (!saved.stdout.includes(`:${chain} `)) continue;
      await tryRun(iptables, ['-t', 'nat', '-w', '5', '-F', chain]);
      await tryRun(iptables, ['-t', 'nat', '-w', '5', '-X', chain]);
    }
  }
}

/** Splits a rule as iptables-save prints it: words, and strings in quotes with escaped quotes inside. */
function ruleArguments(rule: string): string[] {
  return (rule.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, '').replaceAll('\\"', '"'));
}

async function freeSubnet(tag: string): Promise<string> {
  const routes = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  const first = Number.parseInt(tag.slice(0, 2), 16);
  for (let step = 0; step < 256; step++) {
    const prefix = `10.88.${(first + step) % 256}.`;
    if (!routes.includes(prefix)) return `${prefix}0/24`;
  }
  throw new Error('no free subnet below 10.88.0.0/16');
}
