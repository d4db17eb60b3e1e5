import type { PodSandboxConfig } from '@criquet/cri-api';

/**
 * Annotation names of containerd's CRI plugin. containerd's shim puts all of a pod's containers into one process by
 * `sandboxId`, and other runtimes (Kata, gVisor) tell sandbox from container by `containerType`.
 */
export const ANNOTATIONS = {
  containerType: 'io.kubernetes.cri.container-type',
  sandboxId: 'io.kubernetes.cri.sandbox-id',
  sandboxName: 'io.kubernetes.cri.sandbox-name',
  sandboxNamespace: 'io.kubernetes.cri.sandbox-namespace',
  sandboxUid: 'io.kubernetes.cri.sandbox-uid',
  sandboxLogDirectory: 'io.kubernetes.cri.sandbox-log-directory',
  sandboxImageName: 'io.kubernetes.cri.podsandbox.image-name',
  /** Microseconds; of the whole pod, as the kubelet adds them up. */
  sandboxCpuPeriod: 'io.kubernetes.cri.sandbox-cpu-period',
  sandboxCpuQuota: 'io.kubernetes.cri.sandbox-cpu-quota',
  sandboxCpuShares: 'io.kubernetes.cri.sandbox-cpu-shares',
  /** Bytes. */
  sandboxMemory: 'io.kubernetes.cri.sandbox-memory',
  containerName: 'io.kubernetes.cri.container-name',
  imageName: 'io.kubernetes.cri.image-name',
} as const;

/** The annotations of a pause process. */
export function sandboxAnnotations(id: string, config: PodSandboxConfig, imageName: string): Record<string, string> {
  const resources = config.linux?.resources;
  return {
    ...podAnnotations(id, config),
    [ANNOTATIONS.containerType]: 'sandbox',
    [ANNOTATIONS.sandboxLogDirectory]: config.logDirectory,
    [ANNOTATIONS.sandboxImageName]: imageName,
    ...(resources && {
      [ANNOTATIONS.sandboxCpuPeriod]: String(resources.cpuPeriod),
      [ANNOTATIONS.sandboxCpuQuota]: String(resources.cpuQuota),
      [ANNOTATIONS.sandboxCpuShares]: String(resources.cpuShares),
      [ANNOTATIONS.sandboxMemory]: String(resources.memoryLimitInBytes),
    }),
  };
}

/** The annotations of a container in the pod `sandboxId`. */
export function containerAnnotations(
  sandboxId: string,
  config: PodSandboxConfig,
  container: { name: string; imageName: string },
): Record<string, string> {
  return {
    ...podAnnotations(sandboxId, config),
    [ANNOTATIONS.containerType]: 'container',
    [ANNOTATIONS.containerName]: container.name,
    [ANNOTATIONS.imageName]: container.imageName,
  };
}

function podAnnotations(sandboxId: string, config: PodSandboxConfig): Record<string, string> {
  return {
    [ANNOTATIONS.sandboxId]: sandboxId,
    [ANNOTATIONS.sandboxName]: config.metadata?.name ?? '',
    [ANNOTATIONS.sandboxNamespace]: config.metadata?.namespace ?? '',
    [ANNOTATIONS.sandboxUid]: config.metadata?.uid ?? '',
  };
}
