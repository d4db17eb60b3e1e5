/**
 * What a checkpoint archive holds, by names that containerd's CRI plugin, CRI-O, Podman and checkpointctl share
 * (github.com/checkpoint-restore/checkpointctl, `lib/metadata.go`).
 */
export const ArchiveEntry = {
  /** Id, name and image of the container: JSON. */
  config: 'config.dump',
  /** Its OCI runtime spec. */
  spec: 'spec.dump',
  /** CRI ContainerStatus: JSON. */
  status: 'status.dump',
  /** The same as containerd's plugin keeps it: JSON; checkpointctl tells by it what made the archive. */
  containerdStatus: 'status',
  /** CRIU's images: a directory. */
  images: 'checkpoint',
  /** What the container changed in its root file system: a layer, compressed or not. */
  rootfsDiff: 'rootfs-diff.tar',
  /** Files of the image that it deleted: a JSON list, by engines whose layer does not say it with whiteouts. */
  deletedFiles: 'deleted.files',
  /** The pod's /dev/shm. */
  sharedMemory: 'devshm-checkpoint.tar',
  /** The log so far. */
  log: 'container.log',
  dumpLog: 'dump.log',
  dumpStatistics: 'stats-dump',
} as const;

/** What lies in the directory of a pod's checkpoint, beside an archive for each container. */
export const PodEntry = {
  /** Version and containers: JSON. */
  options: 'pod.options',
  /** Who the pod was: JSON. */
  config: 'pod.dump',
} as const;

/** The file name of a container's archive in a pod's checkpoint. */
export function podArchiveName(containerName: string): string {
  return `${containerName}.tar`;
}
