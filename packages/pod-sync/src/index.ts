/** SyncPod for any CRI endpoint: from a Kubernetes Pod manifest to running containers. */

// Manifests
export { parseManifest, type ParsedManifest } from './manifest/parse-manifest.js';
export { formatProblem, ManifestError, type ManifestProblem } from './manifest/manifest-error.js';
export { isQuantity, milliValue, wholeValue, type Quantity } from './manifest/quantity.js';
export type { ConfigObject, Container, ContainerKind, Manifest, Pod, PodMetadata, PodSpec, RestartPolicy, Volume } from './manifest/pod.js';

// Syncing
export {
  PodRunningError,
  PodSync,
  type Cancellable,
  type ExecOptions,
  type ExecResult,
  type LogOptions,
  type PodSyncOptions,
  type RemoveOptions,
  type StopOptions,
  type WaitOptions,
} from './sync/pod-sync.js';
export { EventQueue, STEPS, type StepName, type SyncEvent, type SyncEventListener } from './sync/events.js';
export type { CriCallName } from './sync/cri-calls.js';
export { SyncError, type FailureReason, type SyncResult, type Waiting } from './sync/sync-result.js';

// Status and logs
export type { ContainerView, PodPhase, PodStatus } from './status/pod-status.js';
export { chooseContainer } from './status/default-container.js';
export { PodLookupError } from './status/find-pod.js';
export { followLog, type FollowLogOptions } from './logs/follow-log.js';
export { parseLogRecord, type LogRecord } from './logs/log-record.js';

// Translation to CRI, for callers that make the calls themselves
export { sandboxConfig, type TranslationOptions } from './translate/sandbox-config.js';
export { containerConfig, type ContainerFacts } from './translate/container-config.js';
export { NonRootError, type ImageUser } from './translate/security-context.js';
export type { ClusterDns } from './translate/dns-config.js';
export { readNodeFacts, type NodeFacts, type ResolvConf } from './node/node-facts.js';

// Volumes
export { VolumeError } from './volumes/volume-error.js';
export { systemMounter, type Mounter } from './volumes/mount-command.js';
