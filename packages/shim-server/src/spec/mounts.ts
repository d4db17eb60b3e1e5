import { posix } from 'node:path';
import { status } from '@grpc/grpc-js';
import { MountPropagation, type Mount } from '@criquet/cri-api';
import type { SpecMount } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument, ShimError } from '../errors.js';
import type { PreparedMounts } from './inputs.js';
import { mountIdMappings } from './mount-id-mappings.js';
import { mountOf, readMountInfo, type MountInfo } from './mount-info.js';
import { SourceProbe } from './source-probe.js';

export interface PrepareMountsOptions {
  /** Looks at the sources. Default: one for the whole process, since what it protects, Node's file threads, is the process's. */
  probe?: SourceProbe;
  /** Whether the runtime handler can make mounts read-only recursively. Default false. */
  recursiveReadOnly?: boolean;
  /** Where the images are that are volumes, by place in `requested`: the mounts that {@link isImageMount} tells. */
  imageVolumes?: ReadonlyMap<number, string>;
  /** Whether the runtime handler can make mounts with ids mapped. Default false. */
  idmapped?: boolean;
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

const processProbe = new SourceProbe();

/**
 * The bind mounts of ContainerConfig.mounts. Sources are looked at together; missing ones become directories, symbolic links are
 * followed.
 *
 * @throws INVALID_ARGUMENT or FAILED_PRECONDITION naming the mount (`config.mounts[i]…`) when its source is of no use, its
 * propagation needs a shared source that is not shared, or its options contradict one another; see `SourceProbe.resolve` too.
 */
export async function prepareMounts(
  requested: readonly Mount[],
  options: PrepareMountsOptions = {},
): Promise<PreparedMounts> {
  // The kernel takes 10 ms for it on a node with many pods.
  const propagate = requested.some(({ propagation }) => propagation !== MountPropagation.PROPAGATION_PRIVATE);
  const mountInfo = propagate ? await readMountInfo() : [];
  const binds = await Promise.all(
    requested.map((mount, index) => bindMount(mount, index, mountInfo, options)),
  );
  const propagations = binds.map(({ propagation }) => propagation);
  const rootfsPropagation = propagations.includes('rshared')
    ? 'rshared'
    : propagations.find((mode) => mode === 'rslave');
  return {
    binds: binds.map(({ mount }) => mount),
    ...(rootfsPropagation && { rootfsPropagation }),
    createdSources: binds.flatMap(({ created }) => created ?? []),
  };
}

/** An empty image beside a host path is what a client sends that knows no optional message. */
export function isImageMount({ image, hostPath }: Mount): boolean {
  return image !== undefined && (image.image !== '' || hostPath === '');
}

async function bindMount(
  mount: Mount,
  index: number,
  mountInfo: readonly MountInfo[],
  options: PrepareMountsOptions,
): Promise<BindMount> {
  const field = `config.mounts[${index}]`;
  const destination = posix.resolve('/', mount.containerPath);
  if (mount.containerPath === '') throw invalidArgument(`${field}.container_path`, 'is empty');
  if (destination === '/')
    throw invalidArgument(`${field}.container_path`, 'a mount cannot replace the root directory');
  if (destination.includes('\0')) throw invalidArgument(`${field}.container_path`, 'holds a NUL byte');
  const access = accessMode(mount, field, options.recursiveReadOnly === true);
  const extra = extraOptions(mount, field);
  const image = options.imageVolumes?.get(index);
  if (image !== undefined) {
    // Nothing can be mounted below it, so there is nothing to propagate; and it is mounted with the ids of the pod already.
    return { mount: { destination, type: 'bind', source: image, options: ['rbind', 'rprivate', access, ...extra] } };
  }
  if (mount.imageSubPath !== '') throw invalidArgument(`${field}.image_sub_path`, 'needs image');
  const source = await (options.probe ?? processProbe).resolve(`${field}.host_path`, mount.hostPath, options.signal);
  const mode = propagationMode(mount, field, mountOf(source.path, mountInfo));
  return {
    mount: {
      destination,
      type: 'bind',
      source: source.path,
      options: ['rbind', mode, access, ...extra],
      ...mountIdMappings(mount, field, options.idmapped === true),
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
    throw new ShimError(
      status.FAILED_PRECONDITION,
      `${field}.recursive_read_only: the runtime handler cannot make mounts read-only recursively`,
      { reason: 'RROUnsupported' },
    );
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
      throw invalidArgument(
        `${field}.mount_options`,
        `${JSON.stringify(option)} is not one of ${MOUNT_OPTIONS.join(', ')}`,
      );
    }
  }
  return [...new Set(mount.mountOptions)];
}
