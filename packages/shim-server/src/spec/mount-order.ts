import { posix } from 'node:path';
import type { SpecMount } from '@criquet/runtime-containerd';
import { cgroupMount, defaultMounts } from './default-mounts.js';
import type { PodFiles, PreparedMounts } from './inputs.js';
import { idMappings, type PodUserNamespace } from './user-namespace.js';

/** What a pod has with the node's IPC namespace: it stays as the node has it. */
const NODE_SHM = '/dev/shm';
/** Those of the pod's own file system; a bind mount that names any option loses what it does not name. */
const SHM_OPTIONS = ['nosuid', 'nodev', 'noexec'];

export interface ContainerMountsInput {
  requested: PreparedMounts;
  files: PodFiles;
  volumes: readonly { containerPath: string; hostPath: string }[];
  privileged: boolean;
  readonlyRootfs: boolean;
  /** Whether the container may write to its cgroup where it sees no other. Default false. */
  cgroupWritable?: boolean;
  /** Whether the container has a cgroup namespace of its own. */
  ownCgroupNamespace: boolean;
  /** Of the node; those of a container that has none. */
  cgroupMountOptions: readonly string[];
  /** Of the pod. */
  userns?: PodUserNamespace | undefined;
  hostNetwork?: boolean | undefined;
}

/**
 * All mounts of a container, in the order they are to be made: the default file systems, then the pod's files and CRI's
 * mounts, shallower destinations first. A CRI mount replaces whatever else would be mounted at the same place, and one on
 * `/dev` everything below it.
 */
export function containerMounts(input: ContainerMountsInput): SpecMount[] {
  const { binds } = input.requested;
  const taken = new Set(binds.map(({ destination }) => posix.resolve('/', destination)));
  const base = [
    ...defaultMounts({ sysfsWritable: input.privileged, userns: input.userns, hostNetwork: input.hostNetwork }),
    cgroupMount({
      writable: input.privileged || (input.cgroupWritable === true && input.ownCgroupNamespace),
      sharedSuperOptions: input.ownCgroupNamespace ? [] : input.cgroupMountOptions,
    }),
  ].filter(({ destination }) => !taken.has(destination) && !(taken.has('/dev') && destination.startsWith('/dev/')));
  const own = ownMounts(input).filter(({ destination }) => !taken.has(destination));
  return [...base, ...[...binds, ...own].sort((a, b) => depth(a) - depth(b))];
}

/** The pod's files are writable unless the container's root is not, as with containerd's plugin. */
function ownMounts({ files, volumes, readonlyRootfs, userns }: ContainerMountsInput): SpecMount[] {
  const bind = (source: string, destination: string, mode: 'ro' | 'rw', more: readonly string[] = []): SpecMount => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', 'rprivate', mode, ...more],
  });
  const mode = readonlyRootfs ? 'ro' : 'rw';
  return [
    bind(files.hosts, '/etc/hosts', mode),
    bind(files.hostname, '/etc/hostname', mode),
    bind(files.resolvConf, '/etc/resolv.conf', mode),
    bind(files.shm, '/dev/shm', 'rw', files.shm === NODE_SHM ? [] : SHM_OPTIONS),
    // They have the owners of the image.
    ...volumes.map(({ containerPath, hostPath }) => ({
      ...bind(hostPath, posix.resolve('/', containerPath), 'rw'),
      ...(userns && { uidMappings: idMappings(userns.uids), gidMappings: idMappings(userns.gids) }),
    })),
  ];
}

function depth(mount: SpecMount): number {
  return posix.resolve('/', mount.destination).split('/').length;
}
