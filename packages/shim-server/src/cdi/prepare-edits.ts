import { stat } from 'node:fs/promises';
import type { LinuxDevice } from '@criquet/runtime-containerd';
import { failedPrecondition } from '../errors.js';
import { toDevice } from '../spec/device-node.js';
import type { ContainerEdits, DeviceNode } from './cdi-document.js';

/** A device node of CDI with everything the kernel wants to know. */
export interface PreparedDevice {
  /** Without `uid` and `gid` it belongs to the container's user. */
  readonly device: LinuxDevice;
  /** What the cgroup allows: any of `r`, `w`, `m`; may be empty. */
  readonly access: string;
}

/** All edits of a container, put together. */
export interface PreparedEdits extends Omit<ContainerEdits, 'deviceNodes'> {
  readonly devices: readonly PreparedDevice[];
}

/**
 * Puts edits together, later ones after earlier ones, and looks up on the node what they do not say of their device nodes.
 *
 * @returns undefined where there is nothing to edit.
 * @throws FAILED_PRECONDITION for a device node that the node does not have, or has as another kind of device.
 */
export async function prepareEdits(edits: readonly ContainerEdits[]): Promise<PreparedEdits | undefined> {
  if (edits.length === 0) return undefined;
  const intelRdt = edits.flatMap((edit) => edit.intelRdt ?? []).at(-1);
  return {
    env: edits.flatMap(({ env }) => env),
    devices: await Promise.all(edits.flatMap(({ deviceNodes }) => deviceNodes).map(prepareDevice)),
    netDevices: edits.flatMap(({ netDevices }) => netDevices),
    hooks: edits.flatMap(({ hooks }) => hooks),
    mounts: edits.flatMap(({ mounts }) => mounts),
    ...(intelRdt === undefined ? {} : { intelRdt }),
    additionalGids: edits.flatMap(({ additionalGids }) => additionalGids),
  };
}

/** A node that says its type and numbers need not exist on the node (CDI, `fillMissingInfo` of the reference implementation). */
async function prepareDevice(node: DeviceNode): Promise<PreparedDevice> {
  const { path, hostPath = path, type, major = 0, minor = 0, permissions = '' } = node;
  const complete = type !== undefined && (type === 'p' || major !== 0);
  const found = await stat(hostPath, { bigint: true }).catch((error: unknown) => {
    if (complete) return undefined;
    throw unusable(node, `${JSON.stringify(hostPath)} cannot be looked at: ${(error as NodeJS.ErrnoException).code}`, error);
  });
  const onNode = found === undefined ? undefined : toDevice(found, path);
  const fileMode = node.fileMode ?? onNode?.fileMode;
  return {
    device: {
      path,
      ...(complete ? { type, major, minor } : numbers(node, hostPath, onNode)),
      ...(fileMode === undefined ? {} : { fileMode }),
      ...(node.uid === undefined ? {} : { uid: node.uid }),
      ...(node.gid === undefined ? {} : { gid: node.gid }),
    },
    access: permissions === 'none' ? '' : permissions || 'rwm',
  };
}

function numbers(node: DeviceNode, hostPath: string, onNode: LinuxDevice | undefined): Pick<LinuxDevice, 'type' | 'major' | 'minor'> {
  if (onNode === undefined) throw unusable(node, `${JSON.stringify(hostPath)} is no device`);
  const wanted = node.type ?? onNode.type;
  if ((wanted === 'u' ? 'c' : wanted) !== onNode.type) {
    throw unusable(node, `${JSON.stringify(hostPath)} is of type ${onNode.type}, not ${wanted}`);
  }
  return { type: wanted, major: onNode.major, minor: onNode.minor };
}

function unusable({ path }: DeviceNode, why: string, cause?: unknown): Error {
  const error = failedPrecondition(`CDI device node ${JSON.stringify(path)}: ${why}`);
  if (cause !== undefined) error.cause = cause;
  return error;
}
