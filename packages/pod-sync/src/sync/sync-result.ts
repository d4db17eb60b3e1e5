/** Why a part of a pod could not be brought about, by the kubelet's names. */
export type FailureReason =
  | 'KillPodError'
  | 'KillContainerError'
  | 'VolumeError'
  | 'CreatePodSandboxError'
  | 'ErrImagePull'
  | 'ErrImageNeverPull'
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'PostStartHookError';

/** A part of a sync that failed. */
export class SyncError extends Error {
  override readonly name = 'SyncError';

  constructor(
    readonly reason: FailureReason,
    /** The container concerned; undefined when it is the pod. */
    readonly container: string | undefined,
    cause: Error,
  ) {
    super(`${container === undefined ? '' : `container ${container}: `}${reason}: ${cause.message}`, { cause });
  }
}

/** A container that is not started before some time has passed. */
export interface Waiting {
  readonly container: string;
  readonly reason: 'CrashLoopBackOff' | 'ImagePullBackOff';
  readonly retryInMs: number;
}

/** What one pass of the seven steps did. */
export interface SyncResult {
  /** Nothing was there to do. */
  readonly idle: boolean;
  readonly failures: readonly SyncError[];
  readonly waiting: readonly Waiting[];
}
