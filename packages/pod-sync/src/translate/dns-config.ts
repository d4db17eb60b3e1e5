import type { DNSConfig } from '@criquet/cri-api';
import type { Pod, PodDnsConfig } from '../manifest/pod.js';
import type { ResolvConf } from '../node/node-facts.js';

/** A cluster's DNS service, where there is one. */
export interface ClusterDns {
  readonly servers: readonly string[];
  /** `cluster.local`. */
  readonly domain: string;
}

/** glibc reads no more (and the kubelet passes no more). */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;

/**
 * The pod's resolver settings by dnsPolicy. ClusterFirst without a cluster DNS falls back to the machine's own settings, as with
 * a kubelet that has no --cluster-dns.
 */
export function dnsConfig(pod: Pod, host: ResolvConf, cluster: ClusterDns | undefined): DNSConfig {
  const base = policySettings(pod, host, cluster);
  const extra = pod.spec.dnsConfig;
  const merged = extra === undefined ? base : merge(base, extra);
  return {
    servers: merged.nameservers.slice(0, MAX_SERVERS),
    searches: merged.searches.slice(0, MAX_SEARCHES),
    options: [...merged.options],
  };
}

function policySettings(pod: Pod, host: ResolvConf, cluster: ClusterDns | undefined): ResolvConf {
  const { dnsPolicy, hostNetwork } = pod.spec;
  if (dnsPolicy === 'None') return { nameservers: [], searches: [], options: [] };
  const clusterFirst = dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork);
  if (!clusterFirst || cluster === undefined) return host;
  const { domain } = cluster;
  const searches = [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain, ...host.searches];
  return { nameservers: cluster.servers, searches: unique(searches), options: ['ndots:5'] };
}

function merge(base: ResolvConf, extra: PodDnsConfig): ResolvConf {
  const options = new Map(base.options.map((option) => [option.split(':')[0] ?? option, option]));
  for (const { name, value } of extra.options) options.set(name, value === undefined ? name : `${name}:${value}`);
  return {
    nameservers: unique([...base.nameservers, ...extra.nameservers]),
    searches: unique([...base.searches, ...extra.searches]),
    options: [...options.values()],
  };
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
