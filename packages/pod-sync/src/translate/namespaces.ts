import { NamespaceMode, type NamespaceOption } from '@criquet/cri-api';
import type { Container, Pod } from '../manifest/pod.js';

/** Which namespaces a pod's processes share with the node, the pod or nobody (CRI NamespaceOption). */
export function namespaceOptions(pod: Pod): NamespaceOption {
  const { hostNetwork, hostIPC, hostPID, shareProcessNamespace } = pod.spec;
  const ownPid = shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
  return {
    network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: hostPID ? NamespaceMode.NODE : ownPid,
    targetId: '',
    usernsOptions: undefined,
  };
}

/** As the pod's, but an ephemeral container may join the process namespace of the container that it is to look into. */
export function containerNamespaceOptions(pod: Pod, container: Container, targetId: string | undefined): NamespaceOption {
  const options = namespaceOptions(pod);
  const joins = container.targetContainerName !== undefined && targetId !== undefined && options.pid === NamespaceMode.CONTAINER;
  return joins ? { ...options, pid: NamespaceMode.TARGET, targetId } : options;
}
