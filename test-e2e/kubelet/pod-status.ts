/** v1 Pod as the kubelet's /pods shows it, as far as these suites read it. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: { readonly hostNetwork?: boolean };
  readonly status: PodStatus;
}

export interface PodStatus {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly reason?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string; readonly lastTransitionTime?: string }[];
  readonly podIP?: string;
  readonly hostIP?: string;
  readonly startTime?: string;
  readonly qosClass?: string;
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

export interface Terminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly containerID?: string;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: Terminated;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
  readonly ready: boolean;
  readonly started?: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  /** `RUNTIME://ID`. */
  readonly containerID?: string;
  readonly resources?: unknown;
  readonly allocatedResources?: unknown;
}

/** The status of a container or init container. Throws as long as it has none. */
export function containerOf(pod: Pod, name: string): ContainerStatus {
  const all = [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])];
  const status = all.find((container) => container.name === name);
  if (status === undefined) throw new Error(`${pod.metadata.name} has no status of ${name} yet`);
  return status;
}

/** `True`, `False`, or `Unknown` where the pod does not have the condition. */
export function conditionOf(pod: Pod, type: string): string {
  return pod.status.conditions?.find((condition) => condition.type === type)?.status ?? 'Unknown';
}

/** Running, with all of its containers ready. */
export function isReady(pod: Pod): boolean {
  return pod.status.phase === 'Running' && conditionOf(pod, 'Ready') === 'True';
}
