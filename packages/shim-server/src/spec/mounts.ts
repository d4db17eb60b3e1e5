import { posix } from 'node:path';
import { MountPropagation, type ContainerConfig, type Mount } from '@criquet/cri-api';
import type { LinuxIdMapping, SpecMount } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { cgroupMount, defaultMounts } from './default-mounts.js';
import type { PodFiles, PreparedMounts } from './inputs.js';
import { mountOf, readMountInfo, type MountInfo } from './mount-info.js';
import type { SourceProbe } from './source-probe.js';

export interface PrepareMountsInput {
  config: ContainerConfig;
  files: PodFiles;
  node: { cgroup: 'v1' | 'v2' };
  /** Looks at the sources; the daemon's one. */
  probe: SourceProbe;
  /** Whether the runtime handler can make mounts read-only recursively. Default false. */
  recursiveReadOnly?: boolean;
  /** Paths of volumes that are the shim's own (image volumes): mounted like the pod's files where CRI mounts nothing there. */
  volumes?: readonly { containerPath: string; hostPath: string }[];
  signal?: AbortSignal;
}

type Propagation = NonNullable<PreparedMounts['rootfsPropagation']>;

interface BindMount {
  mount: SpecMount;
  propagation?: Propagation;
  created?: string;
}

/** The options of CRI's `mount_options` (CRI 0.37). */
const MOUNT_OPTIONS: readonly string[] = ['noexec', 'nodev', 'nosuid'];

/**
 * All mounts of a container, in the order they are to be made: the default file systems, then the pod's files and CRI's
 * mounts with shallower destinations first. A CRI mount replaces whatever else would be mounted at the same place, and
 * one on `/dev` everything below it. Sources are looked at together; missing ones become directories.
 *
 * @throws INVALID_ARGUMENT or FAILED_PRECONDITION naming the mount (`config.mounts[i]…`) when its source is of no use, its
 * propagation needs a shared source that is not shared, or its options contradict one another.
 */
export async function prepareMounts(input: PrepareMountsInput): Promise<PreparedMounts> {
  const context = input.config.linux?.securityContext;
  const privileged = context?.privileged === true;
  const mountInfo = await readMountInfo();
  const requested = await Promise.all(
    input.config.mounts.map((mount, index) => bindMount(mount, `config.mounts[${index}]`, mountInfo, input)),
  );
  const taken = new Set(requested.map(({ mount }) => posix.normalize(mount.destination)));
  const ownCgroupNamespace = input.node.cgroup === 'v2' && !privileged;
  const sharedSuperOptions = ownCgroupNamespace ? [] : (mountOf('/sys/fs/cgroup', mountInfo)?.superOptions ?? []);
  const base = [
    ...defaultMounts({ sysfsWritable: privileged }),
    cgroupMount({ writable: privileged, sharedSuperOptions }),
  ].filter(({ destination }) => !taken.has(destination) && !(taken.has('/dev') && destination.startsWith('/dev/')));
  const own = ownMounts(input, context?.readonlyRootfs === true).filter(({ destination }) => !taken.has(destination));
  const binds = [...requested.map(({ mount }) => mount), ...own].sort((a, b) => depth(a) - depth(b));
  const propagations = requested.map(({ propagation }) => propagation);
  const rootfsPropagation = propagations.includes('rshared') ? 'rshared' : propagations.find((mode) => mode === 'rslave');
  return {
    mounts: [...base, ...binds],
    ...(rootfsPropagation && { rootfsPropagation }),
    createdSources: requested.flatMap(({ created }) => created ?? []),
  };
}

function depth(mount: SpecMount): number {
  return posix.normalize(mount.destination).split('/').length;
}

/** The pod's files; writable unless the container's root is not, as with containerd's plugin. */
function ownMounts({ files, volumes = [] }: PrepareMountsInput, readonly: boolean): SpecMount[] {
  const bind = (source: string, destination: string, mode: 'ro' | 'rw'): SpecMount => ({
    destination,
    type: 'bind',
    source,
    options: ['rbind', 'rprivate', mode],
  });
  const mode = readonly ? 'ro' : 'rw';
  return [
    bind(files.hosts, '/etc/hosts', mode),
    bind(files.hostname, '/etc/hostname', mode),
    bind(files.resolvConf, '/etc/resolv.conf', mode),
    bind(files.shm, '/dev/shm', 'rw'),
    ...volumes.map(({ containerPath, hostPath }) => bind(hostPath, posix.join('/', containerPath), 'rw')),
  ];
}

async function bindMount(mount: Mount, field: string, mountInfo: readonly MountInfo[], input: PrepareMountsInput): Promise<BindMount> {
  if (mount.image !== undefined && mount.image.image !== '') {
    throw failedPrecondition(`${field}.image: image volumes are not available`);
  }
  const destination = posix.join('/', mount.containerPath);
  if (mount.containerPath === '') throw invalidArgument(`${field}.container_path`, 'is empty');
  if (destination === '/') throw invalidArgument(`${field}.container_path`, 'a mount cannot replace the root directory');
  if (destination.includes('\0')) throw invalidArgument(`${field}.container_path`, 'holds a NUL byte');
  const access = accessMode(mount, field, input.recursiveReadOnly === true);
  const source = await input.probe.resolve(`${field}.host_path`, mount.hostPath, input.signal);
  const mode = propagationMode(mount, field, mountOf(source.path, mountInfo));
  return {
    mount: {
      destination,
      type: 'bind',
      source: source.path,
      options: ['rbind', mode, access, ...extraOptions(mount, field)],
      ...(mount.uidMappings.length > 0 && { uidMappings: mount.uidMappings.map(idMapping) }),
      ...(mount.gidMappings.length > 0 && { gidMappings: mount.gidMappings.map(idMapping) }),
    },
    ...(mode !== 'rprivate' && { propagation: mode }),
    ...(source.created && { created: mount.hostPath }),
  };
}

function accessMode(mount: Mount, field: string, recursiveSupported: boolean): 'ro' | 'rw' | 'rro' {
  if (!mount.recursiveReadOnly) return mount.readonly ? 'ro' : 'rw';
  if (!mount.readonly) throw invalidArgument(`${field}.recursive_read_only`, 'needs readonly');
  if (mount.propagation !== MountPropagation.PROPAGATION_PRIVATE) {
    throw invalidArgument(`${field}.recursive_read_only`, 'needs private propagation');
  }
  if (!recursiveSupported) {
    throw failedPrecondition(`${field}.recursive_read_only: the runtime handler cannot make mounts read-only recursively`);
  }
  return 'rro';
}

/** Propagation out of, or into, a container works only from a mount that takes part in it on the node. */
function propagationMode(mount: Mount, field: string, on: MountInfo | undefined): 'rprivate' | Propagation {
  const takesPart = (...kinds: string[]): boolean =>
    on?.optionalFields.some((option) => kinds.some((kind) => option.startsWith(`${kind}:`))) === true;
  const refuse = (needed: string): Error =>
    failedPrecondition(
      `${field}.propagation: ${JSON.stringify(mount.hostPath)} is on the mount ${JSON.stringify(on?.mountPoint ?? '/')}, which is not ${needed}`,
    );
  switch (mount.propagation) {
    case MountPropagation.PROPAGATION_PRIVATE:
      return 'rprivate';
    case MountPropagation.PROPAGATION_BIDIRECTIONAL:
      if (!takesPart('shared')) throw refuse('shared');
      return 'rshared';
    case MountPropagation.PROPAGATION_HOST_TO_CONTAINER:
      if (!takesPart('shared', 'master')) throw refuse('shared or a slave');
      return 'rslave';
    default:
      throw invalidArgument(`${field}.propagation`, `unknown mode ${mount.propagation}`);
  }
}

function extraOptions(mount: Mount, field: string): string[] {
  for (const option of mount.mountOptions) {
    if (!MOUNT_OPTIONS.includes(option)) {
      throw invalidArgument(`${field}.mount_options`, `${JSON.stringify(option)} is not one of ${MOUNT_OPTIONS.join(', ')}`);
    }
  }
  return [...new Set(mount.mountOptions)];
}

function idMapping({ hostId, containerId, length }: Mount['uidMappings'][number]): LinuxIdMapping {
  return { hostID: hostId, containerID: containerId, size: length };
}
