// Connecting
export { connectContainerd, type ConnectOptions } from './connect.js';
export type { CallObserver } from './grpc/channel.js';
export type { Containerd } from './containerd.js';
export type { CallOptions } from './call-options.js';

export { checkContainerd, ContainerdUnusable, type ContainerdReport, type SnapshotterReport } from './check/check-containerd.js';
export { parseContainerdVersion, type ContainerdVersion } from './check/containerd-version.js';

// Errors
export {
  ContainerdError,
  isAlreadyExists,
  isCancelled,
  isDeadlineExceeded,
  isFailedPrecondition,
  isNotFound,
  isTaskGone,
  isTaskUnderWay,
  isUnavailable,
} from './errors.js';

// Messages
export type { Any } from './any.js';

// Services
export type { Version, VersionReply } from './services/version.js';
export type { Namespaces, NamespaceRecord } from './services/namespaces.js';
export type { Introspection, Platform, PluginInfo, PluginRecord, ServerRecord } from './services/introspection.js';
export type { NewSandbox, SandboxInfo, SandboxStore } from './services/sandboxes.js';
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
export { REMAP_IDS, remapLabels } from './remap-labels.js';
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
export { decodeEvent } from './services/decode-event.js';
export { newStreamId, type NamedStream, type Streaming } from './services/streaming.js';
export type { Transfer } from './services/transfer.js';

// Beside containerd
export { shimAddress, type ShimAddress } from './shim/shim-address.js';
export { ShimTasks } from './shim/shim-tasks.js';

// Pulling
export { hostPlatform } from './host-platform.js';
export { PullStalled } from './transfer/pull-stalled.js';
export type { PullCredentials, PullProgress, PullRequest } from './transfer/pull-request.js';

// Images in the content store
export { chainId, resolveImage, type ResolvedImage } from './image/resolve-image.js';
export { ImageIncomplete, ImageInvalid, PlatformMissing } from './image/image-errors.js';

// Standard streams of a process
export { TaskIo, type TaskIoLayout } from './task-io/task-io.js';
export { OutputReader, PIPE_BYTES, type OutputOptions, type OutputSink } from './task-io/output-reader.js';
export { StdinWriter } from './task-io/stdin-writer.js';
export { mkfifo, MkfifoError } from './task-io/fifo.js';

// OCI runtime specification
export {
  decodeProcess,
  decodeResources,
  decodeSpec,
  encodeProcess,
  encodeResources,
  encodeSpec,
  processTypeUrl,
  resourcesTypeUrl,
  specTypeUrl,
} from './oci/spec-any.js';
export {
  checkpointOptions,
  decodeRuncOptions,
  runcOptions,
  runcOptionsTypeUrl,
  type RuncCheckpointOptions,
  type RuncOptions,
} from './runc-options.js';
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

// JSON with integers of 64 bits
export { stringifyWide } from './oci/wide-json.js';

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

// What shims and their OCI runtimes can do
export { runtimeInfo, type RuntimeInfo } from './runtime-info.js';
export type { RuntimeFeatures } from './oci/runtime-features.js';

// Options of other shims
export { decodeRuntimeOptions, runtimeOptions, runtimeOptionsTypeUrl, type RuntimeOptions } from './runtime-options.js';
