import {
  ContainerState as CriContainerState,
  CriCallError,
  NamespaceMode,
  PodSandboxState,
  type Container,
  type ContainerStatus,
  type PodSandbox,
  type PodSandboxStatus,
} from '@criquet/cri-api';
import type { ContainerKind } from '../manifest/pod.js';
import type { CriCalls } from '../sync/cri-calls.js';
import { ANNOTATION, LABEL } from '../translate/labels.js';

/** gRPC's NOT_FOUND: the object went away between the list and the question. */
const NOT_FOUND = 5;

export interface SandboxRecord {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly attempt: number;
  readonly ready: boolean;
  /** The main address first; none in the node's network. */
  readonly ips: readonly string[];
  readonly hostNetwork: boolean;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly runtimeHandler: string;
}

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly kind: ContainerKind;
  readonly restartCount: number;
  readonly state: ContainerState;
  readonly exitCode: number;
  /** `Completed`, `Error`, `OOMKilled`, … */
  readonly reason: string;
  readonly message: string;
  /** Nanoseconds since 1970; 0 when it has not happened. */
  readonly createdAt: bigint;
  readonly startedAt: bigint;
  readonly finishedAt: bigint;
  /** As the manifest names it, where the runtime tells. */
  readonly image: string;
  readonly imageRef: string;
  readonly hash: string;
  readonly logPath: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Where the termination message is written on this machine, where the container has such a file. */
  readonly terminationMessageFile: string | undefined;
}

/** What a runtime holds of one pod. */
export interface PodRecord {
  /** The newest first. */
  readonly sandboxes: readonly SandboxRecord[];
  /** The newest first; of one name too. */
  readonly containers: readonly ContainerRecord[];
}

/** Reads one pod by its uid. */
export async function readPodRecord(calls: CriCalls, uid: string): Promise<PodRecord> {
  return readRecord(calls, { [LABEL.podUid]: uid });
}

/** Reads all pods that carry Kubernetes' labels, by uid. */
export async function readAllPods(calls: CriCalls): Promise<Map<string, PodRecord>> {
  const { sandboxes, containers } = await readRecord(calls, {});
  const pods = new Map<string, { sandboxes: SandboxRecord[]; containers: ContainerRecord[] }>();
  for (const sandbox of sandboxes) {
    const pod = pods.get(sandbox.uid) ?? { sandboxes: [], containers: [] };
    pod.sandboxes.push(sandbox);
    pod.containers.push(...containers.filter((container) => container.sandboxId === sandbox.id));
    pods.set(sandbox.uid, pod);
  }
  for (const pod of pods.values()) pod.containers.sort(newestFirst);
  return pods;
}

/** Whether a container no longer runs or is gone. */
export async function hasEnded(calls: CriCalls, containerId: string): Promise<boolean> {
  const response = await present(calls.runtime('containerStatus', containerId, { containerId }));
  return response?.status?.state !== CriContainerState.CONTAINER_RUNNING;
}

async function readRecord(calls: CriCalls, labelSelector: Record<string, string>): Promise<PodRecord> {
  const [sandboxes, containers] = await Promise.all([
    calls.runtime('listPodSandbox', '', { filter: { labelSelector } }),
    calls.runtime('listContainers', '', { filter: { labelSelector } }),
  ]);
  const records = await Promise.all([
    Promise.all(sandboxes.items.map((item) => sandboxRecord(calls, item))),
    Promise.all(containers.containers.map((item) => containerRecord(calls, item))),
  ]);
  return {
    sandboxes: records[0].filter((record) => record !== undefined).sort(newestFirst),
    containers: records[1].filter((record) => record !== undefined).sort(newestFirst),
  };
}

async function sandboxRecord(calls: CriCalls, item: PodSandbox): Promise<SandboxRecord | undefined> {
  const response = await present(calls.runtime('podSandboxStatus', item.metadata?.name ?? item.id, { podSandboxId: item.id }));
  return response?.status === undefined ? undefined : toSandboxRecord(response.status);
}

async function containerRecord(calls: CriCalls, item: Container): Promise<ContainerRecord | undefined> {
  const response = await present(calls.runtime('containerStatus', item.metadata?.name ?? item.id, { containerId: item.id }));
  return response?.status === undefined ? undefined : toContainerRecord(response.status, item.podSandboxId);
}

async function present<T>(response: Promise<T>): Promise<T | undefined> {
  return response.catch((error: unknown) => {
    if (error instanceof CriCallError && Number(error.code) === NOT_FOUND) return undefined;
    throw error;
  });
}

export function toSandboxRecord(status: PodSandboxStatus): SandboxRecord {
  const { network, metadata } = status;
  const ips = [network?.ip ?? '', ...(network?.additionalIps ?? []).map((address) => address.ip)];
  return {
    id: status.id,
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? '',
    uid: metadata?.uid ?? '',
    attempt: metadata?.attempt ?? 0,
    ready: status.state === PodSandboxState.SANDBOX_READY,
    ips: ips.filter((ip) => ip !== ''),
    hostNetwork: status.linux?.namespaces?.options?.network === NamespaceMode.NODE,
    createdAt: status.createdAt,
    labels: status.labels,
    annotations: status.annotations,
    runtimeHandler: status.runtimeHandler,
  };
}

const STATES: ReadonlyMap<CriContainerState, ContainerState> = new Map([
  [CriContainerState.CONTAINER_CREATED, 'created'],
  [CriContainerState.CONTAINER_RUNNING, 'running'],
  [CriContainerState.CONTAINER_EXITED, 'exited'],
]);

function toContainerRecord(status: ContainerStatus, sandboxId: string): ContainerRecord {
  const { annotations } = status;
  const messagePath = annotations[ANNOTATION.terminationMessagePath];
  return {
    id: status.id,
    sandboxId,
    name: status.labels[LABEL.containerName] ?? status.metadata?.name ?? '',
    kind: kindOf(annotations),
    restartCount: Number(annotations[ANNOTATION.restartCount] ?? status.metadata?.attempt ?? 0),
    state: STATES.get(status.state) ?? 'unknown',
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    createdAt: status.createdAt,
    startedAt: status.startedAt,
    finishedAt: status.finishedAt,
    image: status.image?.userSpecifiedImage || status.image?.image || '',
    imageRef: status.imageRef,
    hash: annotations[ANNOTATION.hash] ?? '',
    logPath: status.logPath,
    annotations,
    terminationMessageFile: status.mounts.find((mount) => mount.containerPath === messagePath)?.hostPath,
  };
}

function kindOf(annotations: Readonly<Record<string, string>>): ContainerKind {
  if (annotations[ANNOTATION.sidecar] === 'true') return 'sidecar';
  const type = annotations[ANNOTATION.type];
  return type === 'init' || type === 'ephemeral' ? type : 'container';
}

function newestFirst(a: { createdAt: bigint }, b: { createdAt: bigint }): number {
  return a.createdAt > b.createdAt ? -1 : a.createdAt < b.createdAt ? 1 : 0;
}

/** The newest container of a name. */
export function latestContainer(record: PodRecord, name: string): ContainerRecord | undefined {
  return record.containers.find((container) => container.name === name);
}
