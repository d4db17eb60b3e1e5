import type { SpecMount } from '@criquet/runtime-containerd';

/**
 * The file systems that every container has, in the order they are mounted: proc, dev and what lies in it, sysfs. `/dev/shm` is
 * not among them, it is the pod's.
 */
export function defaultMounts(options: { sysfsWritable: boolean }): SpecMount[] {
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
      // gid 5 is tty in every distribution.
      options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'],
    },
    { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
    {
      destination: '/sys',
      type: 'sysfs',
      source: 'sysfs',
      options: ['nosuid', 'noexec', 'nodev', options.sysfsWritable ? 'rw' : 'ro'],
    },
  ];
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
