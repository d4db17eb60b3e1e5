import type { CniResult } from './cni-result.js';

/** Which address is the pod's first: the first IPv4, the first IPv6, or whatever the plugins listed first. */
export type IpPreference = 'ipv4' | 'ipv6' | 'cni';

/** Addresses without prefix length of `ifName`; the preferred family's first one leads, the others keep the plugins' order. */
export function podIps(_result: CniResult, _ifName: string, _preference: IpPreference = 'ipv4'): string[] {
  throw new Error('to follow');
}
