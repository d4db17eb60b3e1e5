import type { Container, Pod } from '../manifest/pod.js';
import { latestContainer, type ContainerRecord, type PodRecord } from '../status/pod-record.js';
import { containerHash } from '../translate/pod-hash.js';
import type { KillAction } from './pod-actions.js';

/** How far initialization is, and what comes next. */
export interface InitActions {
  /** Ordinary containers may start. */
  readonly initialized: boolean;
  /** An init container failed for good. */
  readonly killPod: boolean;
  /** In the order of the manifest. */
  readonly start: readonly Container[];
  readonly kill: readonly KillAction[];
}

/**
 * Walks the init containers from the last back to the first, as the kubelet does: the last one that has a record tells how far
 * initialization is; everything before it is done, and only sidecars there still need to run.
 */
export function initActions(pod: Pod, record: PodRecord): InitActions {
  const { initContainers, containers } = pod.spec;
  if (initContainers.length === 0) return { initialized: true, killPod: false, start: [], kill: [] };

  const start: Container[] = [];
  const kill: KillAction[] = [];
  // An ordinary container can only be there when all init containers were done.
  let initialized = containers.some(({ name }) => latestContainer(record, name) !== undefined);
  let reached = initialized;

  for (let index = initContainers.length - 1; index >= 0; index--) {
    const container = initContainers[index] as Container;
    const last = latestContainer(record, container.name);
    const sidecar = container.kind === 'sidecar';
    if (last === undefined) {
      // A sidecar whose record was collected, or that was added to the manifest.
      if (reached && sidecar) start.push(container);
      continue;
    }
    if (reached && !sidecar) continue;
    const first = !reached;
    reached = true;
    const next = initContainers[index + 1];
    switch (outcome(container, last)) {
      case 'done':
        if (first && next === undefined) initialized = true;
        else if (first && next !== undefined) start.push(next);
        break;
      case 'running':
        break;
      case 'failed':
        if (pod.spec.restartPolicy === 'Never') return { initialized: false, killPod: true, start: [], kill: [] };
        start.push(container);
        break;
      case 'again':
        if (last.state === 'unknown') kill.push({ record: last, reason: 'its state is unknown' });
        if (last.state === 'running') kill.push({ record: last, reason: 'its definition changed' });
        start.push(container);
        break;
    }
  }
  const [begin] = initContainers;
  if (!reached && begin !== undefined) start.push(begin);
  return { initialized, killPod: false, start: start.reverse(), kill };
}

/** What a container's newest record means for initialization. A sidecar is done as soon as it runs. */
function outcome(container: Container, last: ContainerRecord): 'done' | 'running' | 'failed' | 'again' {
  const sidecar = container.kind === 'sidecar';
  // The kubelet creates and starts in one go: "created" means that the start failed.
  if (last.state === 'created' || last.state === 'unknown') return 'again';
  if (last.state === 'running') {
    if (!sidecar) return 'running';
    return last.hash === containerHash(container) ? 'done' : 'again';
  }
  if (sidecar) return 'again';
  return last.exitCode === 0 ? 'done' : 'failed';
}
