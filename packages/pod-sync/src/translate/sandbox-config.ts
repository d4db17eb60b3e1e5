import { PodSandboxConfig, Protocol, type PortMapping } from '@criquet/cri-api';
import { join } from 'node:path';
import type { Pod } from '../manifest/pod.js';
import type { NodeFacts } from '../node/node-facts.js';
import { dnsConfig, type ClusterDns } from './dns-config.js';
import { podHostname } from './hostname.js';
import { sandboxAnnotations, sandboxLabels } from './labels.js';
import { sandboxOverhead, sandboxResources } from './resources.js';
import { sandboxSecurityContext } from './security-context.js';

/** What a translation takes beside the manifest. */
export interface TranslationOptions {
  readonly node: NodeFacts;
  /** Where pods' logs go: `/var/log/pods`. */
  readonly logRoot: string;
  /** Where relative paths of Localhost seccomp profiles start: `/var/lib/kubelet/seccomp`. */
  readonly seccompRoot: string;
  /** Parent cgroup of the pod, in the form that the runtime's cgroup driver wants; "" leaves it to the runtime. */
  readonly cgroupParent: string;
  readonly clusterDns: ClusterDns | undefined;
}

/** The pod's directory of container logs: `/var/log/pods/<namespace>_<name>_<uid>`. */
export function podLogDirectory(logRoot: string, pod: { namespace: string; name: string; uid: string }): string {
  return join(logRoot, `${pod.namespace}_${pod.name}_${pod.uid}`);
}

/** The request of RunPodSandbox for the pod's `attempt`th sandbox, counted from 0. */
export function sandboxConfig(pod: Pod, attempt: number, options: TranslationOptions): PodSandboxConfig {
  const { name, namespace, uid } = pod.metadata;
  const { hostname } = podHostname(pod, options.clusterDns?.domain ?? 'cluster.local');
  return PodSandboxConfig.fromPartial({
    metadata: { name, namespace, uid, attempt },
    // A pod in the node's network keeps the node's name.
    hostname: pod.spec.hostNetwork ? '' : hostname,
    logDirectory: podLogDirectory(options.logRoot, pod.metadata),
    dnsConfig: dnsConfig(pod, options.node.resolvConf, options.clusterDns),
    portMappings: portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod),
    linux: {
      cgroupParent: options.cgroupParent,
      securityContext: sandboxSecurityContext(pod, options.seccompRoot),
      sysctls: { ...pod.spec.securityContext.sysctls },
      ...(Object.keys(pod.spec.overhead).length === 0 ? {} : { overhead: sandboxOverhead(pod) }),
      resources: sandboxResources(pod),
    },
  });
}

/** Every port that a container or sidecar declares; host_port 0 publishes nothing. A port declared twice counts once. */
function portMappings(pod: Pod): PortMapping[] {
  const { hostNetwork, initContainers, containers } = pod.spec;
  const listening = [...initContainers.filter((container) => container.kind === 'sidecar'), ...containers];
  const mappings = new Map<string, PortMapping>();
  for (const port of listening.flatMap((container) => container.ports)) {
    // The API server sets the host port of a pod in the node's network to the container's.
    const hostPort = hostNetwork ? port.containerPort : port.hostPort;
    const key = [port.protocol, port.containerPort, port.hostIP, hostPort].join('/');
    if (mappings.has(key)) continue;
    mappings.set(key, { protocol: Protocol[port.protocol], containerPort: port.containerPort, hostPort, hostIp: port.hostIP });
  }
  return [...mappings.values()];
}
