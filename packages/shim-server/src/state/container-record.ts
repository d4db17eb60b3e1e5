import { ContainerConfig, type ContainerMetadata } from '@criquet/cri-api';
import { jsonCodec, withMetadata } from './record-codec.js';
import { containerShape } from './record-shapes.js';

/**
 *     creating ──> created ──> running ──> exited
 *         └───────────┴────────────────────^
 */
export type ContainerPhase = 'creating' | 'created' | 'running' | 'exited';

/** How a container ended. */
export interface ContainerExit {
  /** As the kubelet and users know it: 128 + signal for a signal, 128 for a container that never started, 255 unknown. */
  readonly code: number;
  readonly reason: 'Completed' | 'Error' | 'OOMKilled' | 'StartError' | 'Unknown';
  readonly message: string;
  /** Unix time in nanoseconds. */
  readonly finishedAt: bigint;
}

/** The user a container's process runs as, resolved in its rootfs. */
export interface ContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly additionalGids: readonly number[];
}

/** An image that is a volume of a container (CRI `Mount.image`). */
export interface ImageVolume {
  /** Its place among the mounts of the container's configuration. */
  readonly index: number;
  /** The digest of the image's config. */
  readonly imageId: string;
  readonly snapshotter: string;
  /** Of the read-only snapshot that is mounted. */
  readonly snapshotKey: string;
}

/** What a container has on the node beside its root file system, named before it is made; absent for none. */
export interface ContainerVolumes {
  readonly imageVolumes?: readonly ImageVolume[];
  /** The destinations of the volumes that the image declares. */
  readonly declaredVolumes?: readonly string[];
}

/** A checkpoint under way: what a daemon that is killed meanwhile owes. */
export interface CheckpointIntent {
  /** Absolute paths of files outside criquet's own directories that are not whole yet. */
  readonly files: readonly string[];
}

/** Everything criquet knows of a container; immutable, replaced on change. */
export interface ContainerRecord extends ContainerVolumes {
  readonly id: string;
  readonly sandboxId: string;
  /** The name that its metadata makes; see {@link containerName}. */
  readonly name: string;
  readonly config: ContainerConfig;
  readonly configDigest: string;
  readonly phase: ContainerPhase;
  /** The digest of the image's config. */
  readonly imageId: string;
  /** A repo digest of the image, or its id where it has none. */
  readonly imageRef: string;
  /** Absolute; "" when the container keeps no log. */
  readonly logPath: string;
  /** The signal StopContainer sends first. */
  readonly stopSignal: number;
  /** Holds the container's root file system. */
  readonly snapshotter: string;
  /** The container's cgroup, as its runtime spec names it. */
  readonly cgroupsPath: string;
  readonly user?: ContainerUser;
  /** The SELinux label of the container's files; absent where there is none. */
  readonly mountLabel?: string;
  /** The container's process, 0 when it does not run. */
  readonly pid: number;
  /** Unix times in nanoseconds; 0 while not yet. */
  readonly createdAt: bigint;
  readonly startedAt: bigint;
  readonly exit?: ContainerExit;
  /** Set while a checkpoint of it is made: it may be paused. */
  readonly checkpointing?: CheckpointIntent;
  /** Its process comes out of a checkpoint, unpacked below {@link Layout.checkpoint}, instead of being executed. */
  readonly restored?: boolean;
  /** Its task was never started and is being discarded: that it ends meanwhile is no end of the container. */
  readonly discarding?: boolean;
}

/** The name a container is reserved under. */
export function containerName(metadata: ContainerMetadata, sandboxName: string): string {
  return [metadata.name, sandboxName, metadata.attempt].join('_');
}

type PlainExit = Omit<ContainerExit, 'finishedAt'> & { finishedAt: string };
type Plain = Omit<ContainerRecord, 'config' | 'createdAt' | 'startedAt' | 'exit'> & {
  config: string;
  createdAt: string;
  startedAt: string;
  exit?: PlainExit;
};

export const containerCodec = jsonCodec<ContainerRecord>(
  'criquet.container',
  containerShape,
  ({ exit, ...record }) => ({
    ...record,
    config: Buffer.from(ContainerConfig.encode(record.config).finish()).toString('base64'),
    createdAt: String(record.createdAt),
    startedAt: String(record.startedAt),
    ...(exit === undefined ? {} : { exit: { ...exit, finishedAt: String(exit.finishedAt) } }),
  }),
  ({ exit, ...plain }: Plain) => ({
    ...plain,
    config: withMetadata(ContainerConfig.decode(Buffer.from(plain.config, 'base64'))),
    createdAt: BigInt(plain.createdAt),
    startedAt: BigInt(plain.startedAt),
    ...(exit === undefined ? {} : { exit: { ...exit, finishedAt: BigInt(exit.finishedAt) } }),
  }),
);
