import type { Capability } from '@criquet/cri-api';
import type { LinuxCapabilities } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { CAPABILITY_NAMES } from './capability-names.js';

/** What a container gets unless told otherwise: the set that Docker and containerd give. */
export const DEFAULT_CAPABILITIES: readonly string[] = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FSETID',
  'CAP_FOWNER',
  'CAP_MKNOD',
  'CAP_NET_RAW',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SETFCAP',
  'CAP_SETPCAP',
  'CAP_NET_BIND_SERVICE',
  'CAP_SYS_CHROOT',
  'CAP_KILL',
  'CAP_AUDIT_WRITE',
];

const FIELD = 'config.linux.security_context.capabilities';

/**
 * The capability sets of a container.
 *
 * `ALL` in add_capabilities is everything the node has, `ALL` in drop_capabilities is nothing to begin with; single names
 * are added and dropped after that. Names work with and without `CAP_`, in either case. A default capability that the node
 * lacks is left out. Inheritable is empty and so is ambient: a process that is not root does not keep added capabilities
 * over execve (kubernetes/kubernetes#56374), unless `add_ambient_capabilities` asks for it, or `ambient` says that what is added
 * is meant so.
 *
 * @param options.defaults what a container has before; {@link DEFAULT_CAPABILITIES} unless a base spec says otherwise.
 * @throws INVALID_ARGUMENT for a name that Linux does not know; FAILED_PRECONDITION for one that the node lacks.
 */
export function buildCapabilities(
  requested: Capability | undefined,
  options: {
    privileged: boolean;
    node: { capabilities: readonly string[] };
    ambient?: boolean;
    defaults?: readonly string[] | undefined;
  },
): LinuxCapabilities {
  const available = new Set(options.node.capabilities);
  if (options.privileged) return sets([...available], []);
  const add = names(requested?.addCapabilities, 'add_capabilities');
  const drop = names(requested?.dropCapabilities, 'drop_capabilities');
  const asked = names(requested?.addAmbientCapabilities, 'add_ambient_capabilities');
  const ambient = options.ambient === true ? [...new Set([...asked, ...add])] : asked;
  const result = new Set(add.includes('ALL') ? available : (options.defaults ?? DEFAULT_CAPABILITIES).filter((name) => available.has(name)));
  if (drop.includes('ALL')) result.clear();
  for (const name of [...add, ...ambient]) {
    if (name === 'ALL') continue;
    if (!available.has(name)) throw failedPrecondition(`${FIELD}: this node cannot give ${name}`);
    result.add(name);
  }
  for (const name of drop) result.delete(name);
  const kept = ambient.includes('ALL') ? [...result] : ambient.filter((name) => result.has(name));
  return sets([...result], kept);
}

function sets(granted: string[], ambient: string[]): LinuxCapabilities {
  const base = { bounding: granted, effective: [...granted], permitted: [...granted] };
  // The kernel keeps a capability ambient only while it is inheritable too.
  return ambient.length === 0 ? base : { ...base, inheritable: [...ambient], ambient };
}

function names(list: readonly string[] | undefined, field: string): string[] {
  return (list ?? []).map((given) => {
    const upper = given.toUpperCase();
    if (upper === 'ALL') return upper;
    const name = upper.startsWith('CAP_') ? upper : `CAP_${upper}`;
    if (!CAPABILITY_NAMES.includes(name)) {
      throw invalidArgument(`${FIELD}.${field}`, `${JSON.stringify(given)} is not a Linux capability`);
    }
    return name;
  });
}
