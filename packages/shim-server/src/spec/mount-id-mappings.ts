import type { IDMapping, Mount } from '@criquet/cri-api';
import type { LinuxIdMapping, SpecMount } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import { idMappings, NO_ID, type PodUserNamespace } from './user-namespace.js';

/** UID_GID_MAP_MAX_EXTENTS of the kernel (user_namespaces(7)). */
const MAX_MAPPINGS = 340;

/** The two fields by the names that the definition of CRI gives them. */
const FIELDS = ['uidMappings', 'gidMappings'] as const;

type SpecMappings = Pick<SpecMount, (typeof FIELDS)[number]>;

/**
 * A volume whose files belong to ids of the node is seen by the ids of the pod.
 *
 * @param field of the mount, for errors
 * @param supported whether the runtime handler can make mounts with ids mapped
 * @throws INVALID_ARGUMENT naming the field for mappings that no kernel takes; FAILED_PRECONDITION where it is not supported
 */
export function mountIdMappings(mount: Mount, field: string, supported: boolean): SpecMappings {
  if (!isMapped(mount)) return {};
  for (const name of FIELDS) check(mount[name], `${field}.${name}`);
  if (!supported) throw failedPrecondition(`${field}.uidMappings: the runtime handler cannot make mounts with ids mapped`);
  return { uidMappings: mount.uidMappings.map(toSpec), gidMappings: mount.gidMappings.map(toSpec) };
}

/**
 * An image has no owner on the node: it is mounted with the ids of its pod, so its mappings can say only these. The kubelet sends
 * them with every mount of a pod with a user namespace.
 *
 * @throws INVALID_ARGUMENT naming the field
 */
export function checkImageIdMappings(mount: Mount, field: string, userns: PodUserNamespace | undefined): void {
  if (!isMapped(mount)) return;
  for (const name of FIELDS) {
    if (userns === undefined) {
      if (mount[name].length > 0) throw invalidArgument(`${field}.${name}`, 'the ids of an image are mapped only in a pod with a user namespace');
      continue;
    }
    const pods = idMappings(name === 'uidMappings' ? userns.uids : userns.gids);
    const same = mount[name].length === pods.length && pods.every((pod, index) => isSame(pod, mount[name][index]));
    if (!same) throw invalidArgument(`${field}.${name}`, "an image has the mapping of the pod's user namespace, no other");
  }
}

function isMapped({ uidMappings, gidMappings }: Mount): boolean {
  return uidMappings.length > 0 || gidMappings.length > 0;
}

function check(mappings: readonly IDMapping[], field: string): void {
  if (mappings.length === 0) throw invalidArgument(field, 'is empty, while the other ids are mapped');
  if (mappings.length > MAX_MAPPINGS) throw invalidArgument(field, `has ${mappings.length} mappings, the kernel takes ${MAX_MAPPINGS}`);
  for (const [index, { length }] of mappings.entries()) if (length < 1) throw invalidArgument(`${field}[${index}].length`, `is ${length}`);
  checkRanges(mappings, field, 'container_id', ({ containerId }) => containerId);
  checkRanges(mappings, field, 'host_id', ({ hostId }) => hostId);
}

/** Neither side of a mapping may have an id twice, or one that is none. */
function checkRanges(mappings: readonly IDMapping[], field: string, side: string, startOf: (mapping: IDMapping) => number): void {
  const ranges = mappings.map((mapping, index) => ({ index, start: startOf(mapping), end: startOf(mapping) + mapping.length }));
  for (const { index, end } of ranges) {
    if (end > NO_ID) throw invalidArgument(`${field}[${index}].${side}`, `ends at ${end - 1}, the last id is ${NO_ID - 1}`);
  }
  ranges.sort((a, b) => a.start - b.start);
  for (const [place, { index, start }] of ranges.entries()) {
    const before = ranges[place - 1];
    if (before === undefined || start >= before.end) continue;
    const [first, second] = [index, before.index].sort((a, b) => a - b);
    throw invalidArgument(`${field}[${second}].${side}`, `overlaps that of ${field}[${first}]`);
  }
}

function toSpec({ hostId, containerId, length }: IDMapping): LinuxIdMapping {
  return { hostID: hostId, containerID: containerId, size: length };
}

function isSame(pod: LinuxIdMapping, mapping: IDMapping | undefined): boolean {
  return mapping?.containerId === pod.containerID && mapping.hostId === pod.hostID && mapping.length === pod.size;
}
