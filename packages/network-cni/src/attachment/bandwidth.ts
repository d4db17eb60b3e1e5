import { parseQuantity } from './resource-quantity.js';

/** Capability argument `bandwidth` (CNI CONVENTIONS.md): rates in bits per second, bursts in bits. */
export interface Bandwidth {
  readonly ingressRate?: number;
  readonly ingressBurst?: number;
  readonly egressRate?: number;
  readonly egressBurst?: number;
}

export const INGRESS_ANNOTATION = 'kubernetes.io/ingress-bandwidth';
export const EGRESS_ANNOTATION = 'kubernetes.io/egress-bandwidth';

/** Limits of Kubernetes' own check of these annotations. */
const MIN_RATE = 1_000n;
const MAX_RATE = 1_000_000_000_000_000n;

/** The most the bandwidth plugin takes, which containerd sets: the rate alone is what the annotations promise. */
const BURST_BITS = 0xffff_ffff;

/** Bandwidth limits by a pod's annotations; undefined when it has none. Throws TypeError naming the annotation. */
export function bandwidthOf(annotations: Readonly<Record<string, string>>): Bandwidth | undefined {
  const ingressRate = rateOf(annotations, INGRESS_ANNOTATION);
  const egressRate = rateOf(annotations, EGRESS_ANNOTATION);
  if (ingressRate === undefined && egressRate === undefined) return undefined;
  return {
    ...(ingressRate !== undefined && { ingressRate, ingressBurst: BURST_BITS }),
    ...(egressRate !== undefined && { egressRate, egressBurst: BURST_BITS }),
  };
}

function rateOf(annotations: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = Object.hasOwn(annotations, name) ? annotations[name] : undefined;
  if (text === undefined) return undefined;
  const rate = parseQuantity(text);
  if (rate === undefined) throw new TypeError(`annotation ${name}: ${JSON.stringify(text)} is no resource quantity`);
  if (rate < MIN_RATE) throw new TypeError(`annotation ${name}: ${JSON.stringify(text)} is less than 1k bits per second`);
  if (rate > MAX_RATE) throw new TypeError(`annotation ${name}: ${JSON.stringify(text)} is more than 1P bits per second`);
  return Number(rate);
}
