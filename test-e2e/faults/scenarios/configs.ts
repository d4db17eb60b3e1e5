import { NamespaceMode, type ContainerConfig, type DeepPartial, type PodSandboxConfig } from '@criquet/cri-api';
import type { TestNode } from '../../harness/node.js';
import { BUSYBOX } from '../../harness/pods.js';

/** Declares volumes. */
export const VOLUMES_IMAGE = 'registry.k8s.io/criquet-e2e/volumes:1';

/** For what does not depend on a network. */
export function onNodeNetwork(node: TestNode): DeepPartial<PodSandboxConfig> {
  return { linux: { cgroupParent: node.podCgroup(), securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } } };
}

/** Runs until it is killed. */
export const LASTING = ['sh', '-c', 'while :; do sleep 1; done'];
/** Does not end on TERM once it has said so. */
export const STUBBORN = ['sh', '-c', "trap '' TERM; echo deaf; while :; do sleep 0.1; done"];

/** What a container can have that has to go again: an image mounted into it, and volumes that its own image declares. */
export function volumesContainer(command: readonly string[], change: DeepPartial<ContainerConfig> = {}): DeepPartial<ContainerConfig> {
  return {
    image: { image: VOLUMES_IMAGE },
    command: [...command],
    mounts: [{ containerPath: '/mounted', readonly: true, image: { image: BUSYBOX } }],
    ...change,
  };
}

/** A user that no other container of the image asks for, so that it has to be looked up. */
export function withOwnUser(index: number): DeepPartial<ContainerConfig> {
  return { linux: { securityContext: { runAsUser: { value: BigInt(1000 + index) } } } };
}
