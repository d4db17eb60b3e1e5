import { hostname as nodeName } from 'node:os';
import { invalidArgument } from '../errors.js';

/** The kernel's limit (__NEW_UTS_LEN), bytes. */
const MAX_HOSTNAME_BYTES = 64;

/**
 * The host name that processes of a pod see: CRI's `hostname`; the node's where CRI gives none, and with host network,
 * where the pod lives in the node's UTS namespace.
 *
 * @throws INVALID_ARGUMENT for a name above 64 bytes, or one with blanks, slashes or control characters.
 */
export function podHostname(hostname: string, hostNetwork: boolean, node: string = nodeName()): string {
  if (Buffer.byteLength(hostname) > MAX_HOSTNAME_BYTES) {
    throw invalidArgument('config.hostname', `is longer than ${MAX_HOSTNAME_BYTES} bytes`);
  }
  if (/[\s/\p{Cc}]/u.test(hostname)) {
    throw invalidArgument('config.hostname', `${JSON.stringify(hostname)} is not a host name`);
  }
  return hostNetwork || hostname === '' ? node : hostname;
}

/** The content of `/etc/hostname`: the host name on a line. @throws as `podHostname`. */
export function hostnameFile(hostname: string, hostNetwork: boolean, node?: string): string {
  return `${podHostname(hostname, hostNetwork, node)}\n`;
}
