import type { SpecMount } from '@criquet/runtime-containerd';
import type { PodUserNamespace } from './user-namespace.js';

/** tty in every distribution. */
const TTY_GID = 5;

export interface DefaultMountsOptions {
  sysfsWritable: boolean;
  /** Of the pod. */
  userns?: PodUserNamespace | undefined;
  hostNetwork?: boolean | undefined;
}

/**
 * The file systems that every container has, in the order they are mounted: proc, dev and what lies in it, sysfs. `/dev/shm` is
 * not among them, it is the pod's.
 */
export function defaultMounts(options: DefaultMountsOptions): SpecMount[] {
  const ttyGroup = options.userns === undefined || options.userns.gids.length > TTY_GID;
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
    {
      destination: '/dev',
      type: 'tmpfs',
      source: 'tmpfs',
      options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
    },
    {
      destination: '/dev/pts',
      type: 'devpts',
      source: 'devpts',
      options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', ...(ttyGroup ? [`gid=${TTY_GID}`] : [])],
    },
    { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
    sysfs(options),
  ];
}

/** sysfs shows a network namespace, and only the user namespace that owns this one may mount it: else it is the node's, read-only. */
function sysfs({ sysfsWritable, userns, hostNetwork }: DefaultMountsOptions): SpecMount {
  const options = ['nosuid', 'noexec', 'nodev'];
  if (userns !== undefined && hostNetwork === true) {
    return { destination: '/sys', type: 'bind', source: '/sys', options: ['rbind', 'rro', ...options] };
  }
  return { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...options, sysfsWritable ? 'rw' : 'ro'] };
}

/**
 * The cgroup mount of a container.
 *
 * @param sharedSuperOptions with the node's own cgroup namespace on v2 the mount's options become those of the node's one
 * super block, so the ones that matter are repeated here.
 */
export function cgroupMount(options: { writable: boolean; sharedSuperOptions: readonly string[] }): SpecMount {
  const kept = options.sharedSuperOptions.filter((name) => name === 'nsdelegate' || name === 'memory_recursiveprot');
  return {
    destination: '/sys/fs/cgroup',
    type: 'cgroup',
    source: 'cgroup',
    options: ['nosuid', 'noexec', 'nodev', 'relatime', options.writable ? 'rw' : 'ro', ...kept],
  };
}
