import { allContainers } from '../manifest/check-references.js';
import type { Container, Pod } from '../manifest/pod.js';
import { milliValue, wholeValue, type Quantity } from '../manifest/quantity.js';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** oom_score_adj of Guaranteed containers (kubelet's qos policy). */
const GUARANTEED_OOM_SCORE_ADJ = -997;
const BEST_EFFORT_OOM_SCORE_ADJ = 1000;

/**
 * A pod's quality of service: Guaranteed when every container limits cpu and memory and requests no less, BestEffort when no
 * container says anything of them, else Burstable.
 */
export function qosClass(pod: Pod): QosClass {
  const containers = allContainers(pod).filter((container) => container.kind !== 'ephemeral');
  const amounts = containers.flatMap(({ resources }) => ['cpu', 'memory'].flatMap((n) => [resources.limits[n], resources.requests[n]]));
  if (!amounts.some(isSet)) return 'BestEffort';
  return containers.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

function isGuaranteed({ resources }: Container): boolean {
  return ['cpu', 'memory'].every((name) => {
    const limit = resources.limits[name];
    // The API server sets a missing request to the limit.
    const request = resources.requests[name] ?? limit;
    return isSet(limit) && isSet(request) && milliValue(limit) === milliValue(request);
  });
}

function isSet(quantity: Quantity | undefined): quantity is Quantity {
  return quantity !== undefined && milliValue(quantity) > 0n;
}

/**
 * How likely the kernel is to kill the container when memory runs out: -997 for Guaranteed, 1000 for BestEffort, between for
 * Burstable: the more of the machine's memory it requests, the lower.
 */
export function oomScoreAdj(pod: Pod, container: Container, memoryCapacity: bigint): number {
  const qos = qosClass(pod);
  if (qos === 'Guaranteed') return GUARANTEED_OOM_SCORE_ADJ;
  if (qos === 'BestEffort') return BEST_EFFORT_OOM_SCORE_ADJ;
  const request = container.resources.requests.memory ?? container.resources.limits.memory;
  const requested = request === undefined ? 0n : wholeValue(request);
  const score = 1000 - Number((1000n * requested) / memoryCapacity);
  // Above every Guaranteed container and below every BestEffort one.
  return Math.min(Math.max(score, 1000 + GUARANTEED_OOM_SCORE_ADJ), BEST_EFFORT_OOM_SCORE_ADJ - 1);
}
