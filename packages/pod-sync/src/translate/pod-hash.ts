import { allContainers } from '../manifest/check-references.js';
import type { Container, Pod } from '../manifest/pod.js';

/**
 * Fingerprint of a container's whole specification, eight hex digits (32-bit FNV-1a, as the kubelet uses). The kubelet of today
 * hashes name and image only, because the API server lets nothing else change; a file may change in every line.
 */
export function containerHash(container: Container): string {
  return fnv1a32(stableJson(container));
}

/** Fingerprint of what a sandbox is made from: when it changes, the sandbox must be made anew. */
export function sandboxHash(pod: Pod): string {
  const { spec } = pod;
  const parts = {
    hostNetwork: spec.hostNetwork,
    hostPID: spec.hostPID,
    hostIPC: spec.hostIPC,
    shareProcessNamespace: spec.shareProcessNamespace,
    hostname: spec.hostname,
    subdomain: spec.subdomain,
    setHostnameAsFQDN: spec.setHostnameAsFQDN,
    dnsPolicy: spec.dnsPolicy,
    dnsConfig: spec.dnsConfig,
    runtimeClassName: spec.runtimeClassName,
    securityContext: spec.securityContext,
    ports: allContainers(pod).flatMap((container) => container.ports),
  };
  return fnv1a32(stableJson(parts));
}

/** JSON with the keys of every object in order, so that equal values give equal text. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, child: unknown) => {
    if (typeof child !== 'object' || child === null || Array.isArray(child)) return child;
    return Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function fnv1a32(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
