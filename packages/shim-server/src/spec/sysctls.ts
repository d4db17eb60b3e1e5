import { invalidArgument } from '../errors.js';
import { MAX_ID } from './id-range.js';
import type { PodUserNamespace } from './user-namespace.js';

const FIELD = 'config.linux.sysctls';

const NAME = /^[^./\s\0]+(?:[./][^./\s\0]+)*$/;
const IPC_SYSCTLS = /^(kernel\.(msgmax|msgmnb|msgmni|sem|shmall|shmmax|shmmni|shm_rmid_forced)|fs\.mqueue\..+)$/;

export interface SandboxSysctlOptions {
  hostNetwork: boolean;
  hostIpc: boolean;
  userns?: PodUserNamespace | undefined;
  node: { networkSysctls: { unprivilegedPortStart: boolean; pingGroupRange: boolean } };
}

/**
 * The sysctls of a sandbox: the pod's, and unless it sets them or shares the node's network, the two that let processes
 * without privileges bind ports below 1024 and send ICMP echo, in the pod's own network namespace.
 *
 * @throws INVALID_ARGUMENT for a sysctl that is not the pod's own: it would change the node, or the runtime would fail.
 */
export function sandboxSysctls(
  requested: Record<string, string>,
  options: SandboxSysctlOptions,
): Record<string, string> {
  const result: Record<string, string> = {};
  if (!options.hostNetwork) {
    if (options.node.networkSysctls.unprivilegedPortStart) result['net.ipv4.ip_unprivileged_port_start'] = '0';
    // All groups; the kernel takes ids of the pod's user namespace only.
    const lastGroup = options.userns === undefined ? MAX_ID : Math.min(options.userns.gids.length - 1, MAX_ID);
    if (options.node.networkSysctls.pingGroupRange) result['net.ipv4.ping_group_range'] = `0 ${lastGroup}`;
  }
  for (const [given, value] of Object.entries(requested)) {
    // To a runtime both separators are slashes below /proc/sys, and two in a row would climb.
    if (!NAME.test(given)) throw invalidArgument(FIELD, `${JSON.stringify(given)} is no name of a sysctl`);
    const name = dotted(given);
    checkNamespaced(name, options);
    result[name] = value;
  }
  return result;
}

/** sysctl(8) takes both separators; the first one in the name decides, so that `net/ipv4/conf/eth0.1/mtu` works. */
function dotted(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

function checkNamespaced(name: string, options: SandboxSysctlOptions): void {
  const shown = JSON.stringify(name);
  if (name === 'kernel.hostname') throw invalidArgument(FIELD, `${shown}: set the host name by config.hostname`);
  if (name.startsWith('net.')) {
    if (options.hostNetwork) throw invalidArgument(FIELD, `${shown} cannot be set in a pod with the node's network`);
    return;
  }
  if (IPC_SYSCTLS.test(name)) {
    if (options.hostIpc) throw invalidArgument(FIELD, `${shown} cannot be set in a pod with the node's IPC namespace`);
    return;
  }
  if (name === 'kernel.domainname' && !options.hostNetwork) return;
  throw invalidArgument(FIELD, `${shown} is not separate for each pod and would change the node`);
}
