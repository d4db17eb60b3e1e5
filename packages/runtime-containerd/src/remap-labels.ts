import type { LinuxIdMapping } from './oci/runtime-spec.js';

/** A snapshotter with this capability makes mounts of a snapshot by its {@link remapLabels}. */
export const REMAP_IDS = 'remap-ids';

/**
 * Labels of a snapshot whose files are to be seen by the ids of a user namespace (core/snapshots `LabelSnapshotUIDMapping`). The
 * snapshotter's mounts then carry the options `uidmap` and `gidmap`, which containerd's shim, and nobody else, understands. 0 must be among
 * the mapped ids, and the labels of a snapshot cannot change once it is there.
 */
export function remapLabels(uids: readonly LinuxIdMapping[], gids: readonly LinuxIdMapping[]): Record<string, string> {
  return { 'containerd.io/snapshot/uidmapping': mapping(uids), 'containerd.io/snapshot/gidmapping': mapping(gids) };
}

function mapping(mappings: readonly LinuxIdMapping[]): string {
  return mappings.map(({ containerID, hostID, size }) => `${containerID}:${hostID}:${size}`).join(',');
}
