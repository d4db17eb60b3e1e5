import { join } from 'node:path';

const ROOT = '/proc/sys';

/**
 * The file of a network sysctl. As with sysctl(8) the first separator decides: `net.ipv4.conf.eth0/1.forwarding` and
 * `net/ipv4/conf/eth0.1/forwarding` are the same. Throws TypeError for a name outside of `net`.
 */
export function sysctlPath(name: string): string {
  const separator = /[./]/.exec(name)?.[0];
  const slashed = separator === '.' ? name.replace(/[./]/g, (found) => (found === '.' ? '/' : '.')) : name;
  const parts = slashed.split('/');
  if (parts[0] !== 'net' || parts.length < 2) throw new TypeError(`sysctl ${JSON.stringify(name)} does not belong to the network namespace`);
  if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) {
    throw new TypeError(`sysctl ${JSON.stringify(name)} is no valid name`);
  }
  return join(ROOT, ...parts);
}
