import type { SELinuxOption } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';
import type { NodeFacts } from './node-facts.js';
import type { SelinuxContexts } from './selinux-contexts.js';

const LEVEL = /^s\d(-s\d)?(:c\d{1,4}(\.c\d{1,4})?(,c\d{1,4}(\.c\d{1,4})?)*)?$/;

/** The labels of the process and of its mounts; none where SELinux is off. */
export interface SelinuxLabels {
  process?: string;
  mount?: string;
}

export interface SelinuxRequest {
  /** CRI's options; what they leave out is the policy's. */
  options: SELinuxOption | undefined;
  /** The pod's, where the options give none. */
  level: string | undefined;
  /** A privileged process has no label of its own: it is as little confined as the runtime. */
  privileged: boolean;
  node: Pick<NodeFacts, 'selinuxEnabled' | 'selinuxContexts'>;
}

/** What container-selinux's policy has. With a policy that knows no containers only a pod that gives options has labels. */
const CONTAINER_SELINUX: SelinuxContexts = {
  process: 'system_u:system_r:container_t:s0',
  file: 'system_u:object_r:container_file_t:s0',
  readOnlyFile: 'system_u:object_r:container_ro_file_t:s0',
};

/**
 * The labels of a container or pause process.
 *
 * @param field the options', for errors.
 * @throws INVALID_ARGUMENT for a malformed level, or a part that would change the parts beside it.
 */
export function selinuxLabels(field: string, request: SelinuxRequest): SelinuxLabels {
  const { options, node, level } = request;
  if (options !== undefined) checkOptions(field, options);
  if (!node.selinuxEnabled || (node.selinuxContexts === undefined && !givesAny(options))) return {};
  const { process, file } = node.selinuxContexts ?? CONTAINER_SELINUX;
  const { user, role, type } = options ?? { user: '', role: '', type: '' };
  const own = parts(process);
  const files = parts(file);
  const theLevel = options?.level || level || own.level;
  return {
    ...(!request.privileged && { process: label(user || own.user, role || own.role, type || own.type, theLevel) }),
    mount: label(user || files.user, files.role, files.type, theLevel),
  };
}

/** Whether a pod with these options needs a level that is chosen for it. */
export function needsLevel(options: SELinuxOption | undefined, node: SelinuxRequest['node']): boolean {
  const { process } = node.selinuxContexts ?? CONTAINER_SELINUX;
  const labelled = node.selinuxEnabled && (node.selinuxContexts !== undefined || givesAny(options));
  // A policy without levels has none to choose from.
  return labelled && (options?.level ?? '') === '' && parts(process).level !== '';
}

function givesAny(options: SELinuxOption | undefined): boolean {
  return options !== undefined && options.user + options.role + options.type + options.level !== '';
}

function checkOptions(field: string, { user, role, type, level }: SELinuxOption): void {
  if (level !== '' && !LEVEL.test(level)) {
    throw invalidArgument(`${field}.level`, `${JSON.stringify(level)} is not a level such as "s0:c1,c2"`);
  }
  for (const [name, value] of Object.entries({ user, role, type })) {
    if (!/^[\w.-]*$/.test(value)) throw invalidArgument(`${field}.${name}`, `${JSON.stringify(value)} is no name`);
  }
}

function label(user: string, role: string, type: string, level: string): string {
  return [user, role, type, ...(level === '' ? [] : [level])].join(':');
}

function parts(context: string): { user: string; role: string; type: string; level: string } {
  const [user = '', role = '', type = '', ...level] = context.split(':');
  return { user, role, type, level: level.join(':') };
}
