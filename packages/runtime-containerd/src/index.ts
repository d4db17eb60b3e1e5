// Connecting
export type { Containerd } from './containerd.js';
export type { CallOptions } from './call-options.js';

// Messages
export type { Any } from './any.js';

// Services
export type { Version, VersionReply } from './services/version.js';
export type { Namespaces, NamespaceRecord } from './services/namespaces.js';
export type { Introspection, Platform, PluginInfo, PluginRecord, ServerRecord } from './services/introspection.js';
export { leaseExpireLabel, type Lease, type LeaseResource, type Leases } from './services/leases.js';
export {
  BlobTooLarge,
  type BlobToWrite,
  type Content,
  type ContentInfo,
  type IngestStatus,
  type ReadRange,
  type WrittenBlob,
} from './services/content.js';
export type { Mount, SnapshotInfo, SnapshotKind, SnapshotLabels, Snapshots, SnapshotUsage } from './services/snapshots.js';
export type { Diff, DiffOptions } from './services/diff.js';
export type { Descriptor, ImageRecord, Images, NewImage } from './services/images.js';
export type { ContainerRecord, ContainerRuntime, Containers, NewContainer } from './services/containers.js';
export type {
  Exit,
  KillRequest,
  NewExec,
  NewTask,
  PtySize,
  TaskMetrics,
  TaskPid,
  TaskProcess,
  Tasks,
  TaskStatus,
  TaskStreams,
  TaskUpdate,
} from './services/tasks.js';
export type { Envelope, Events } from './services/events.js';
export type {
  ContainerdEvent,
  ContainerEvent,
  ImageEvent,
  OtherEvent,
  TaskCheckpointedEvent,
  TaskCreateEvent,
  TaskDeleteEvent,
  TaskExecAddedEvent,
  TaskExecStartedEvent,
  TaskExitEvent,
  TaskOomEvent,
  TaskPausedEvent,
  TaskStartEvent,
} from './services/event-types.js';
export type { NamedStream, Streaming } from './services/streaming.js';
export type { Transfer } from './services/transfer.js';

// Pulling
export type { PullCredentials, PullProgress, PullRequest } from './transfer/pull-request.js';
export type { ResolvedImage } from './image/resolve-image.js';

// OCI runtime specification
export type {
  LinuxBlockIo,
  LinuxCapabilities,
  LinuxCpu,
  LinuxDevice,
  LinuxDeviceCgroup,
  LinuxIdMapping,
  LinuxIntelRdt,
  LinuxIoPriority,
  LinuxMemory,
  LinuxNamespace,
  LinuxNamespaceType,
  LinuxResources,
  LinuxScheduler,
  LinuxSeccomp,
  LinuxSeccompArg,
  LinuxSyscall,
  LinuxThrottleDevice,
  PosixRlimit,
  RuntimeSpec,
  SeccompAction,
  SpecHook,
  SpecHooks,
  SpecLinux,
  SpecMount,
  SpecProcess,
  SpecRoot,
  SpecUser,
  WideInteger,
} from './oci/runtime-spec.js';

// OCI image specification
export {
  isIndex,
  isManifest,
  mediaTypes,
  type ImageConfig,
  type ImageIndex,
  type ImageManifest,
  type ImageRunConfig,
  type OciDescriptor,
  type OciPlatform,
} from './oci/image-spec.js';
