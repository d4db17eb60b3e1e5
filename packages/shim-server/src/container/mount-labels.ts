import { posix } from 'node:path';
import type { ContainerConfig } from '@criquet/cri-api';
import type { RuntimeSpec } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { invalidArgument } from '../errors.js';
import { mayRelabel, relabel } from '../runtime/relabel.js';
import type { Xattrs } from '../runtime/xattrs.js';
import { isImageMount, type PodFiles } from '../spec/index.js';
import { Token } from '../tokens.js';

/** Something of the node that gets the label of a container. */
interface Source {
  /** For errors. */
  readonly field: string;
  readonly path: string;
}

/**
 * Gives what is mounted into a container its SELinux label: mounts that ask for it (CRI `Mount.selinux_relabel`), and the pod's own files.
 * An image has the label from its mount.
 */
@scoped(Lifecycle.ContainerScoped)
export class MountLabels {
  constructor(@inject(Token.Xattrs) private readonly xattrs: Xattrs) {}

  /** @throws INVALID_ARGUMENT for a directory that the node itself lives in */
  check(config: ContainerConfig, spec: RuntimeSpec): void {
    if (spec.linux?.mountLabel === undefined) return;
    for (const { field, path } of requestedSources(config, spec)) {
      if (!mayRelabel(path)) throw invalidArgument(field, `${path} belongs to the node and cannot be given a container's label`);
    }
  }

  async apply(config: ContainerConfig, spec: RuntimeSpec, files: PodFiles): Promise<void> {
    const label = spec.linux?.mountLabel;
    if (label === undefined) return;
    for (const { path } of [...requestedSources(config, spec), ...podSources(spec, files)]) await relabel(path, label, this.xattrs);
  }

  /** Volumes that the shim made itself. */
  async label(paths: readonly string[], label: string | undefined): Promise<void> {
    if (label === undefined) return;
    for (const path of paths) await relabel(path, label, this.xattrs);
  }
}

/** The sources are those of the spec: looked at before, and without symbolic links. */
function requestedSources(config: ContainerConfig, spec: RuntimeSpec): Source[] {
  return config.mounts.flatMap((mount, index) => {
    if (!mount.selinuxRelabel || isImageMount(mount)) return [];
    const path = sourceAt(posix.resolve('/', mount.containerPath), spec);
    return path === undefined ? [] : [{ field: `config.mounts[${index}].selinux_relabel`, path }];
  });
}

/** The node's own /dev/shm is not the pod's. */
function podSources(spec: RuntimeSpec, { hosts, hostname, resolvConf, shm }: PodFiles): Source[] {
  const own = new Set([hosts, hostname, resolvConf, ...(shm === '/dev/shm' ? [] : [shm])]);
  return (spec.mounts ?? []).flatMap(({ source = '', destination }) => (own.has(source) ? [{ field: destination, path: source }] : []));
}

function sourceAt(destination: string, spec: RuntimeSpec): string | undefined {
  return spec.mounts?.find((mount) => mount.type === 'bind' && mount.destination === destination)?.source;
}
