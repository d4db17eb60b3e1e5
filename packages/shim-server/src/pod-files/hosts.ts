import { isIP } from 'node:net';

/** A pod with a network of its own, for its lines in `/etc/hosts`. */
export interface PodHost {
  /** As `/etc/hostname` has it. */
  hostname: string;
  /** The pod's addresses, IPv4 or IPv6, in the order that its status reports them. */
  ips: readonly string[];
}

/** The names that programs expect to resolve without a network. The IPv6 groups are those of RFC 4291. */
const LOCAL_HOSTS = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'ff00::0\tip6-mcastprefix',
  'ff02::1\tip6-allnodes',
  'ff02::2\tip6-allrouters',
];

/**
 * The content of a pod's `/etc/hosts`.
 *
 * The kubelet mounts a file of its own over this one in every container, so it is for pods of other callers. Without `pod` (host
 * network, or addresses not known yet) it is the node's file, as with containerd's CRI plugin; with `pod` the local names and
 * the pod's own.
 *
 * @param nodeHosts the node's `/etc/hosts`; empty gives the local names alone.
 */
export function hostsFile(nodeHosts: string, pod?: PodHost): string {
  if (pod === undefined && nodeHosts.trim() !== '') return nodeHosts.endsWith('\n') ? nodeHosts : `${nodeHosts}\n`;
  const own = (pod?.ips ?? []).filter((ip) => isIP(ip) !== 0).map((ip) => `${ip}\t${pod?.hostname ?? ''}`);
  return `${['# Written by criquet.', ...LOCAL_HOSTS, ...own].join('\n')}\n`;
}
