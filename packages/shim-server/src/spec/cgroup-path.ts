import { posix } from 'node:path';
import { invalidArgument } from '../errors.js';
import { isObjectId } from '../state/object-id.js';

const FIELD = 'config.linux.cgroup_parent';

/** The prefix of the scopes' names under systemd; tools know containers of CRI by it. */
const SCOPE_PREFIX = 'cri-containerd';

/**
 * The OCI `linux.cgroupsPath` of a container or sandbox.
 *
 * With the cgroupfs driver a path, `<parent>/<id>`; with systemd `<slice>:cri-containerd:<id>`, where the slice is the last
 * element of the parent (the kubelet sends the whole path of slices). Without a parent: `/<namespace>/<id>`, and
 * `system.slice` with systemd.
 *
 * @throws INVALID_ARGUMENT when the parent belongs to the other driver, climbs with `..` or holds `:` or NUL.
 */
export function cgroupPath(
  parent: string,
  id: string,
  options: { driver: 'cgroupfs' | 'systemd'; namespace: string },
): string {
  if (parent === '') {
    return options.driver === 'systemd' ? `system.slice:${SCOPE_PREFIX}:${id}` : `/${options.namespace}/${id}`;
  }
  const shown = JSON.stringify(parent);
  if (/[:\0]/.test(parent)) throw invalidArgument(FIELD, `${shown} holds ":" or a NUL byte`);
  if (parent.split('/').includes('..')) throw invalidArgument(FIELD, `${shown} holds ".."`);
  const slice = posix.basename(parent);
  if (options.driver === 'systemd') {
    if (!slice.endsWith('.slice')) {
      throw invalidArgument(
        FIELD,
        `${shown} is no systemd slice, but the runtime uses the systemd cgroup driver; ` +
          'set the same driver for the kubelet and the runtime handler (SystemdCgroup)',
      );
    }
    return `${slice}:${SCOPE_PREFIX}:${id}`;
  }
  if (slice.endsWith('.slice')) {
    throw invalidArgument(
      FIELD,
      `${shown} is a systemd slice, but the runtime uses the cgroupfs driver; ` +
        'set the same driver for the kubelet and the runtime handler (SystemdCgroup)',
    );
  }
  return posix.join('/', parent, id);
}

/** The id in the name of a cgroup of the form that {@link cgroupPath} gives, for either driver; undefined for other names. */
export function cgroupOwner(name: string): string | undefined {
  const scope = name.startsWith(`${SCOPE_PREFIX}-`) && name.endsWith('.scope');
  const id = scope ? name.slice(SCOPE_PREFIX.length + 1, -'.scope'.length) : name;
  return isObjectId(id) ? id : undefined;
}
