import type { ContainerKind, Pod } from '../manifest/pod.js';
import { allContainers } from '../manifest/check-references.js';
import { ANNOTATION, LABEL } from '../translate/labels.js';
import { latestContainer, type ContainerRecord, type PodRecord } from './pod-record.js';
import { terminationMessage } from './termination-message.js';

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

/** One container of a pod as it stands now. */
export interface ContainerView {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly state: 'waiting' | 'running' | 'terminated' | 'unknown';
  /** Absent while the container was never created. */
  readonly id?: string;
  readonly image: string;
  readonly imageRef?: string;
  readonly restartCount: number;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: Date;
  readonly finishedAt?: Date;
  /** Path of the log file on the runtime's machine. */
  readonly logPath?: string;
}

/** A pod as it stands now. */
export interface PodStatus {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly phase: PodPhase;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The newest sandbox; absent before there is one. */
  readonly sandbox?: {
    readonly id: string;
    readonly attempt: number;
    readonly ready: boolean;
    readonly createdAt: Date;
    readonly runtimeHandler: string;
  };
  /** The main address first. Empty in the node's network. */
  readonly ips: readonly string[];
  /** Init containers, ordinary ones, ephemeral ones; in the manifest's order where it is known, else in that of creation. */
  readonly containers: readonly ContainerView[];
}

/** Builds the status of a pod from what the runtime holds; with the manifest also containers that were never created are in it. */
export async function podStatus(record: PodRecord, pod?: Pod): Promise<PodStatus> {
  const [sandbox] = record.sandboxes;
  const containers = pod === undefined ? await knownContainers(record) : await expectedContainers(record, pod);
  const restartPolicy = pod?.spec.restartPolicy ?? sandbox?.annotations[ANNOTATION.restartPolicy] ?? 'Always';
  return {
    name: pod?.metadata.name ?? sandbox?.name ?? '',
    namespace: pod?.metadata.namespace ?? sandbox?.namespace ?? '',
    uid: pod?.metadata.uid ?? sandbox?.uid ?? '',
    phase: podPhase(containers, restartPolicy, sandbox?.ready ?? false),
    labels: pod?.metadata.labels ?? withoutAdded(sandbox?.labels ?? {}, LABEL),
    annotations: pod?.metadata.annotations ?? withoutAdded(sandbox?.annotations ?? {}, ANNOTATION),
    ...(sandbox === undefined
      ? {}
      : {
          sandbox: {
            id: sandbox.id,
            attempt: sandbox.attempt,
            ready: sandbox.ready,
            createdAt: date(sandbox.createdAt),
            runtimeHandler: sandbox.runtimeHandler,
          },
        }),
    ips: sandbox?.ips ?? [],
    containers,
  };
}

/** The phase by the kubelet's rules; a pod whose sandbox was stopped has ended whatever its restart policy. */
export function podPhase(containers: readonly ContainerView[], restartPolicy: string, sandboxReady: boolean): PodPhase {
  const ordinary = containers.filter((container) => container.kind === 'container');
  const init = containers.filter((container) => container.kind === 'init');
  const ended = (view: ContainerView) => view.state === 'terminated';
  const failed = (view: ContainerView) => ended(view) && view.exitCode !== 0;
  if (ordinary.some((view) => view.state === 'running')) return 'Running';
  if (ordinary.length === 0 || ordinary.some((view) => view.state !== 'terminated')) {
    const initFailed = init.some(failed) && (restartPolicy === 'Never' || !sandboxReady);
    return initFailed ? 'Failed' : 'Pending';
  }
  if (restartPolicy === 'Always' && sandboxReady) return 'Running';
  if (!ordinary.some(failed)) return 'Succeeded';
  return restartPolicy === 'OnFailure' && sandboxReady ? 'Running' : 'Failed';
}

async function expectedContainers(record: PodRecord, pod: Pod): Promise<ContainerView[]> {
  const views = allContainers(pod).map(async (container): Promise<ContainerView> => {
    const latest = latestContainer(record, container.name);
    if (latest !== undefined) return view(latest);
    const { name, kind, image } = container;
    return { name, kind, image, state: 'waiting', restartCount: 0 };
  });
  return Promise.all(views);
}

const KIND_ORDER: readonly ContainerKind[] = ['init', 'sidecar', 'container', 'ephemeral'];

async function knownContainers(record: PodRecord): Promise<ContainerView[]> {
  const latest = record.containers.filter((container) => latestContainer(record, container.name) === container);
  const views = await Promise.all(latest.reverse().map(view));
  const rank = (kind: ContainerKind) => (kind === 'sidecar' ? 0 : KIND_ORDER.indexOf(kind));
  return views.sort((a, b) => rank(a.kind) - rank(b.kind));
}

async function view(record: ContainerRecord): Promise<ContainerView> {
  const { id, name, kind, image, imageRef, restartCount, logPath, exitCode } = record;
  const state = ({ created: 'waiting', running: 'running', exited: 'terminated', unknown: 'unknown' } as const)[record.state];
  const message = await terminationMessage(record);
  return {
    name,
    kind,
    state,
    id,
    image,
    imageRef,
    restartCount,
    ...(state === 'terminated' ? { exitCode } : {}),
    ...(record.reason === '' ? {} : { reason: record.reason }),
    ...(message === '' ? {} : { message }),
    ...(record.startedAt > 0n ? { startedAt: date(record.startedAt) } : {}),
    ...(record.finishedAt > 0n ? { finishedAt: date(record.finishedAt) } : {}),
    ...(logPath === '' ? {} : { logPath }),
  };
}

/** The pod's own labels or annotations, without those that the sandbox carries beside them. */
function withoutAdded(map: Readonly<Record<string, string>>, added: Readonly<Record<string, string>>): Record<string, string> {
  const names = new Set(Object.values(added));
  return Object.fromEntries(Object.entries(map).filter(([name]) => !names.has(name)));
}

function date(nanoseconds: bigint): Date {
  return new Date(Number(nanoseconds / 1_000_000n));
}
