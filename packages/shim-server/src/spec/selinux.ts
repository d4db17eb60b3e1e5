import type { SELinuxOption } from '@criquet/cri-api';
import { invalidArgument } from '../errors.js';

const LEVEL = /^s\d(-s\d)?(:c\d{1,4}(\.c\d{1,4})?(,c\d{1,4}(\.c\d{1,4})?)*)?$/;

/** The labels of the process and of its mounts; none where SELinux is off or the pod gives no options. */
export interface SelinuxLabels {
  process?: string;
  mount?: string;
}

/**
 * Labels from CRI's options as given; parts left out are those of container-selinux's policy. The shim picks no categories
 * of its own: without options the policy's transition rules apply.
 *
 * @throws INVALID_ARGUMENT for a malformed level.
 */
export function selinuxLabels(
  field: string,
  options: SELinuxOption | undefined,
  node: { selinuxEnabled: boolean },
): SelinuxLabels {
  if (options === undefined) return {};
  if (options.level !== '' && !LEVEL.test(options.level)) {
    throw invalidArgument(`${field}.level`, `${JSON.stringify(options.level)} is not a level such as "s0:c1,c2"`);
  }
  const given = options.user + options.role + options.type + options.level;
  if (!node.selinuxEnabled || given === '') return {};
  const user = options.user || 'system_u';
  const level = options.level || 's0';
  return {
    process: `${user}:${options.role || 'system_r'}:${options.type || 'container_t'}:${level}`,
    mount: `${user}:object_r:container_file_t:${level}`,
  };
}
