import { isIP } from 'node:net';
import type { DNSConfig } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';

/** Kubernetes' limits of a pod's search list: entries, and characters with the blanks between them. */
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARS = 2048;

/**
 * The content of a pod's `/etc/resolv.conf`: CRI's servers, searches and options as they are, or the node's file where CRI
 * gives none of them. Resolvers use the first three servers.
 *
 * @param nodeResolvConf the node's file, see `chooseNodeResolvConf`.
 * @throws INVALID_ARGUMENT naming the entry that is no IP address, holds a blank, or goes beyond Kubernetes' limits.
 */
export function resolvConf(config: DNSConfig | undefined, nodeResolvConf: string): string {
  const { servers = [], searches = [], options = [] } = config ?? {};
  if (servers.length + searches.length + options.length === 0) return nodeResolvConf;
  servers.forEach((server, index) => {
    // A link-local IPv6 server needs its interface, `fe80::1%eth0`.
    const [address = '', zone, ...more] = server.split('%');
    const scoped = zone === undefined || /^[A-Za-z0-9_.-]{1,15}$/.test(zone);
    if (isIP(address) === 0 || !scoped || more.length > 0) {
      throw invalidArgument(`config.dns_config.servers[${index}]`, `${JSON.stringify(server)} is not an IP address`);
    }
  });
  checkWords('config.dns_config.searches', searches);
  checkWords('config.dns_config.options', options);
  if (searches.length > MAX_SEARCHES || searches.join(' ').length > MAX_SEARCH_CHARS) {
    throw invalidArgument(
      'config.dns_config.searches',
      `more than ${MAX_SEARCHES} entries or ${MAX_SEARCH_CHARS} characters`,
    );
  }
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * Which of the node's files a pod can use. systemd-resolved's `/etc/resolv.conf` names a resolver on the node's loopback,
 * which no other network namespace reaches; then the servers behind it count.
 *
 * @param etc `/etc/resolv.conf`.
 * @param resolved `/run/systemd/resolve/resolv.conf`, empty where there is none.
 */
export function chooseNodeResolvConf(etc: string, resolved: string): string {
  const servers = [...etc.matchAll(/^\s*nameserver\s+(\S+)/gm)].map((match) => match[1] ?? '');
  const onlyLoopback = servers.length > 0 && servers.every((server) => server.startsWith('127.') || server === '::1');
  return onlyLoopback && resolved.trim() !== '' ? resolved : etc;
}

/** An entry with a blank or a newline would become other entries or lines. */
function checkWords(field: string, words: readonly string[]): void {
  words.forEach((word, index) => {
    if (word === '' || /[\s\p{Cc}]/u.test(word)) {
      throw invalidArgument(`${field}[${index}]`, `${JSON.stringify(word)} is empty or holds a blank`);
    }
  });
}
