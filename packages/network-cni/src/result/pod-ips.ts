import type { CniResult } from './cni-result.js';
import { canonicalAddress, parseCidr } from './ip-address.js';

/** Which address is the pod's first: the first IPv4, the first IPv6, or whatever the plugins listed first. */
export type IpPreference = 'ipv4' | 'ipv6' | 'cni';

/**
 * The addresses of `ifName`, without prefix length and in canonical spelling, the pod's own first (CRI PodSandboxNetworkStatus.ip),
 * then the others (additional_ips).
 *
 * The order depends on the result alone: the first address of the preferred family leads, the others follow as the plugins listed
 * them. Where the family is absent nothing moves. Default `ipv4`, as containerd's ip_pref.
 *
 * An address without interface belongs to `ifName` (results before 0.3, delegated plugins). Where an interface of that name exists
 * on the host too, the one with a sandbox counts.
 */
export function podIps(result: CniResult, ifName: string, preference: IpPreference = 'ipv4'): string[] {
  const named = [...result.interfaces.keys()].filter((index) => result.interfaces[index]?.name === ifName);
  const inSandbox = named.filter((index) => result.interfaces[index]?.sandbox !== undefined);
  const own = inSandbox.length > 0 ? inSandbox : named;
  const found = result.ips
    .filter((ip) => ip.interface === undefined || own.includes(ip.interface))
    .flatMap((ip) => parseCidr(ip.address) ?? []);
  const first = found.findIndex(({ family }) => preference !== 'cni' && family === (preference === 'ipv4' ? 4 : 6));
  const ordered = first <= 0 ? found : [...found.splice(first, 1), ...found];
  return [...new Set(ordered.map(({ address }) => canonicalAddress(address)))];
}
