import { ContainerConfig, PodSandboxConfig } from '@criquet/cri-api';
import type { ContainerRecord as ContainerdRecord } from '@criquet/runtime-containerd';
import { containerName, type ContainerRecord } from '../state/container-record.js';
import { KIND_LABEL } from '../state/record-labels.js';
import { sandboxName, type SandboxRecord } from '../state/sandbox-record.js';

/** The labels by which the kubelet names what it makes (k8s.io/kubelet `pkg/types`). */
const POD_NAME = 'io.kubernetes.pod.name';
const POD_NAMESPACE = 'io.kubernetes.pod.namespace';
const POD_UID = 'io.kubernetes.pod.uid';
const CONTAINER_NAME = 'io.kubernetes.container.name';

/** What can be said of a sandbox whose record cannot be read: enough to see it and to remove it. */
export function brokenSandbox(
  { id, labels, snapshotter, createdAt }: ContainerdRecord,
  pins: Pick<SandboxRecord, 'netnsPath' | 'usernsPath'>,
): SandboxRecord {
  const metadata = {
    name: labels[POD_NAME] ?? id,
    namespace: labels[POD_NAMESPACE] ?? '',
    uid: labels[POD_UID] ?? id,
    attempt: 0,
  };
  return {
    id,
    name: `broken_${sandboxName(metadata)}_${id}`,
    config: PodSandboxConfig.fromPartial({ metadata, labels: withoutKind(labels) }),
    configDigest: '',
    runtimeHandler: '',
    handler: '',
    snapshotter,
    cgroupsPath: '',
    phase: 'stopped',
    ...pins,
    networkAttached: true,
    ips: [],
    pid: 0,
    createdAt,
  };
}

/** The same of a container. */
export function brokenContainer({ id, labels, image, snapshotter, createdAt }: ContainerdRecord): ContainerRecord {
  const metadata = { name: labels[CONTAINER_NAME] ?? id, attempt: 0 };
  return {
    id,
    sandboxId: '',
    name: `broken_${containerName(metadata, id)}`,
    config: ContainerConfig.fromPartial({ metadata, labels: withoutKind(labels), image: { image } }),
    configDigest: '',
    phase: 'exited',
    imageId: '',
    imageRef: image,
    logPath: '',
    stopSignal: 15,
    snapshotter,
    cgroupsPath: '',
    pid: 0,
    createdAt,
    startedAt: 0n,
    exit: { code: 255, reason: 'Unknown', message: 'the record of this container cannot be read', finishedAt: createdAt },
  };
}

function withoutKind(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => key !== KIND_LABEL));
}
