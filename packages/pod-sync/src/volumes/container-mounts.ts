import { Mount, MountPropagation } from '@criquet/cri-api';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container, Pod, VolumeMount } from '../manifest/pod.js';
import type { Environment } from '../translate/environment.js';
import { expand } from '../translate/expand.js';
import type { Mounter } from './mount-command.js';
import type { PodDirectory } from './pod-directory.js';
import type { VolumePaths } from './prepare-volumes.js';
import { bindSubPath } from './sub-path.js';
import { VolumeError } from './volume-error.js';

const PROPAGATION = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
} as const;

/** What mounts of a container are made from. */
export interface MountSources {
  readonly directory: PodDirectory;
  readonly volumes: VolumePaths;
  readonly environment: Environment;
  readonly mounter: Mounter;
}

/**
 * The mounts of a container: its volumeMounts, the pod's /etc/hosts unless a volume is mounted there, and a fresh file for its
 * termination message.
 */
export async function containerMounts(pod: Pod, container: Container, sources: MountSources, signal?: AbortSignal): Promise<Mount[]> {
  const mounts: Mount[] = [];
  for (const [index, mount] of container.volumeMounts.entries()) {
    const hostPath = await sourceOf(container, mount, index, sources, signal);
    mounts.push(
      Mount.fromPartial({
        containerPath: mount.mountPath,
        hostPath,
        readonly: mount.readOnly,
        recursiveReadOnly: mount.recursiveReadOnly,
        propagation: PROPAGATION[mount.mountPropagation],
        selinuxRelabel: pod.spec.securityContext.seLinuxOptions !== undefined,
      }),
    );
  }
  if (!mounts.some((mount) => mount.containerPath === '/etc/hosts') && wantsHosts(pod)) {
    mounts.push(Mount.fromPartial({ containerPath: '/etc/hosts', hostPath: sources.directory.hosts }));
  }
  if (container.terminationMessagePath !== '') {
    const hostPath = await makeTerminationMessage(sources.directory.container(container.name));
    mounts.push(Mount.fromPartial({ containerPath: container.terminationMessagePath, hostPath }));
  }
  return mounts;
}

/** A pod in the node's network sees the node's own file, unless it adds aliases. */
export function wantsHosts(pod: Pod): boolean {
  return !pod.spec.hostNetwork || pod.spec.hostAliases.length > 0;
}

async function sourceOf(
  container: Container,
  mount: VolumeMount,
  index: number,
  { volumes, environment, directory, mounter }: MountSources,
  signal: AbortSignal | undefined,
): Promise<string> {
  const root = volumes.get(mount.name);
  if (root === undefined) throw new VolumeError(mount.name, 'is not in spec.volumes');
  const subPath = mount.subPathExpr === '' ? mount.subPath : expandSubPath(mount, environment);
  if (subPath === '') return root;
  return bindSubPath(mount.name, root, subPath, directory.subPath(mount.name, container.name, index), mounter, signal);
}

function expandSubPath(mount: VolumeMount, environment: Environment): string {
  const path = expand(mount.subPathExpr, environment, (name) => {
    throw new VolumeError(mount.name, `subPathExpr refers to ${JSON.stringify(name)}, which is not in the container's environment`);
  });
  if (path.startsWith('/') || path.split('/').includes('..')) {
    throw new VolumeError(mount.name, 'subPathExpr leads out of the volume');
  }
  return path;
}

/** A new file for each start of the container, writable for whatever user it runs as. */
async function makeTerminationMessage(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o750 });
  const path = join(directory, randomBytes(4).toString('hex'));
  await writeFile(path, '', { flag: 'wx' });
  await chmod(path, 0o666);
  return path;
}
