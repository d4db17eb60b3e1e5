import { PodLookupError } from './find-pod.js';
import type { ContainerView, PodStatus } from './pod-status.js';

/** Annotation by which a pod names the container that commands mean when none is given (kubectl's). */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container';

/**
 * The container that a command means: the named one, or the one that the pod's annotation names, or its first ordinary one.
 *
 * @throws PodLookupError when the pod has no such container.
 */
export function chooseContainer(status: PodStatus, name: string | undefined): ContainerView {
  const wanted = name ?? status.annotations[DEFAULT_CONTAINER];
  const ordinary = status.containers.filter((container) => container.kind === 'container');
  const chosen = wanted === undefined ? (ordinary[0] ?? status.containers[0]) : status.containers.find((c) => c.name === wanted);
  if (chosen !== undefined) return chosen;
  const names = status.containers.map((container) => container.name).join(', ') || 'none';
  const what = wanted === undefined ? 'no container' : `no container ${JSON.stringify(wanted)}`;
  throw new PodLookupError('not-found', `pod ${status.namespace}/${status.name} has ${what}; its containers: ${names}`);
}
