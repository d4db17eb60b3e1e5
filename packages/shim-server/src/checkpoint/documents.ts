import type { ContainerStatus, PodSandboxConfig } from '@criquet/cri-api';
import { stringifyWide } from '@criquet/runtime-containerd';
import type { ContainerRecord } from '../state/container-record.js';

/** `config.dump`, as far as a restore needs it. */
export interface CheckpointedContainer {
  readonly id: string;
  readonly name: string;
  /** A repo digest or an id; what the root file system's lower layers are. */
  readonly imageRef: string;
  /** The name the image went by. */
  readonly imageName: string;
}

/** Version of pod.options (checkpointctl, CheckpointedPodOptions). */
const POD_OPTIONS_VERSION = 1;

export function configDump(container: ContainerRecord, imageName: string, runtime: string): string {
  return JSON.stringify({
    id: container.id,
    name: container.config.metadata?.name ?? '',
    rootfsImage: imageName,
    rootfsImageRef: container.imageRef,
    rootfsImageName: imageName,
    runtime,
    createdTime: rfc3339(container.createdAt),
    checkpointedTime: new Date().toISOString(),
    // Go's zero time: it was not restored.
    restoredTime: '0001-01-01T00:00:00Z',
    restored: false,
  });
}

/** @throws Error saying what is wrong with it */
export function readConfigDump(text: string): CheckpointedContainer {
  const document = parseObject(text);
  const field = (key: string): string => (typeof document[key] === 'string' ? document[key] : '');
  const imageName = field('rootfsImageName') || field('rootfsImage');
  const imageRef = field('rootfsImageRef') || imageName;
  if (imageRef === '') throw new Error('it does not name the image');
  return { id: field('id'), name: field('name'), imageRef, imageName: imageName || imageRef };
}

/** As Go writes the protobuf message with encoding/json: snake_case names, numbers for enums. */
export function statusDump(status: ContainerStatus): string {
  return stringifyWide({
    id: status.id,
    metadata: status.metadata === undefined ? undefined : { name: status.metadata.name, attempt: status.metadata.attempt },
    state: status.state,
    created_at: status.createdAt,
    started_at: status.startedAt,
    image: status.image === undefined ? undefined : { image: status.image.image },
    image_ref: status.imageRef,
    image_id: status.imageId,
    labels: status.labels,
    annotations: status.annotations,
    log_path: status.logPath,
  });
}

export function containerdStatus(container: ContainerRecord): string {
  return stringifyWide({
    CreatedAt: container.createdAt,
    StartedAt: container.startedAt,
    FinishedAt: 0,
    ExitCode: 0,
    Pid: container.pid,
    Reason: '',
    Message: '',
  });
}

/** `pod.options`. @param containers the archives' names without ending, by container name */
export function podOptions(containers: readonly string[]): string {
  return JSON.stringify({
    version: POD_OPTIONS_VERSION,
    containers: Object.fromEntries(containers.map((name) => [name, name])),
    annotations: { 'org.criu.checkpoint.engine.name': 'criquet' },
  });
}

/** The names of the containers in a pod's checkpoint. @throws Error saying what is wrong with it */
export function readPodOptions(text: string): string[] {
  const { version, containers } = parseObject(text);
  if (version !== POD_OPTIONS_VERSION) throw new Error(`version ${String(version)} is not known; this criquet reads ${POD_OPTIONS_VERSION}`);
  if (typeof containers !== 'object' || containers === null || Array.isArray(containers)) throw new Error('it has no containers');
  return Object.keys(containers);
}

export function podDump({ metadata, hostname }: PodSandboxConfig): string {
  return JSON.stringify({ metadata: { name: metadata?.name, uid: metadata?.uid, namespace: metadata?.namespace }, hostname });
}

function parseObject(text: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    // The parser quotes the text, which may be of any file.
    throw new Error('it is not JSON');
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw new Error('it is no JSON object');
  return document as Record<string, unknown>;
}

function rfc3339(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString();
}
