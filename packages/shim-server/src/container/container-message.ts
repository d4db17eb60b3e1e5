import { ContainerState, type Container, type ContainerStatus, type ImageSpec, type Mount } from '@criquet/cri-api';
import type { ContainerRecord } from '../state/container-record.js';
import { criSignal } from './stop-signal.js';

/** CRI ContainerState of a record. */
export function containerState(container: ContainerRecord): ContainerState {
  switch (container.phase) {
    case 'running':
      return ContainerState.CONTAINER_RUNNING;
    case 'exited':
      return ContainerState.CONTAINER_EXITED;
    default:
      return ContainerState.CONTAINER_CREATED;
  }
}

/** CRI Container, as ListContainers gives it. */
export function containerMessage(container: ContainerRecord): Container {
  const { metadata, labels, annotations } = container.config;
  return {
    id: container.id,
    podSandboxId: container.sandboxId,
    metadata,
    image: container.config.image,
    // In lists this is the image's id; ContainerStatus has the repo digest here.
    imageRef: container.imageId,
    imageId: container.imageId,
    state: containerState(container),
    createdAt: container.createdAt,
    labels,
    annotations,
  };
}

/** CRI ContainerStatus. */
export function containerStatus(container: ContainerRecord, image: ImageSpec | undefined): ContainerStatus {
  const { metadata, labels, annotations, linux } = container.config;
  const { exit, user } = container;
  return {
    id: container.id,
    metadata,
    state: containerState(container),
    createdAt: container.createdAt,
    startedAt: container.startedAt,
    finishedAt: exit?.finishedAt ?? 0n,
    exitCode: exit?.code ?? 0,
    image,
    imageRef: container.imageRef,
    imageId: container.imageId,
    reason: exit?.reason ?? '',
    message: exit?.message ?? '',
    labels,
    annotations,
    mounts: statusMounts(container),
    logPath: container.logPath,
    resources: linux?.resources === undefined ? undefined : { linux: linux.resources, windows: undefined },
    user:
      user === undefined
        ? undefined
        : {
            linux: {
              uid: BigInt(user.uid),
              gid: BigInt(user.gid),
              supplementalGroups: user.additionalGids.map(BigInt),
            },
          },
    stopSignal: criSignal(container.stopSignal),
  };
}

/** As they were asked for; an image also with its id, as PullImage gave it. */
function statusMounts({ config, imageVolumes = [] }: ContainerRecord): Mount[] {
  return config.mounts.map((mount, index) => {
    const imageRef = imageVolumes.find((volume) => volume.index === index)?.imageId;
    return mount.image === undefined || imageRef === undefined ? mount : { ...mount, image: { ...mount.image, imageRef } };
  });
}
