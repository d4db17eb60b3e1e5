import { component, type EnumFact } from '../facts.js';

const security = component('security-context');
const pods = component('pod-life');

export const ENUMS: Readonly<Record<string, EnumFact>> = {
  Protocol: { values: 3, text: 'all, by CNI\'s names', test: pods('what CNI is told: args, port mappings, bandwidth, DNS, by the capabilities a plugin names') },
  MountPropagation: { values: 3, text: 'all; another one is InvalidArgument', test: component('mount-fields')('R4 Mount.propagation: each mode, and a clear error where the source takes no part') },
  NamespaceMode: { values: 4, text: 'all, where each namespace has them; TARGET for PID', test: security('PID, IPC and network namespaces: the pod decides, and a container of its own PID namespace') },
  SupplementalGroupsPolicy: { values: 2, text: 'both', test: security('X5 group named as user: as /etc/group says with Merge, as CRI says with Strict, and the status reports it') },
  'SecurityProfile.ProfileType': { values: 3, text: 'all', test: security('seccomp: the default profile grows with the capabilities; the deprecated field counts where the new one is absent') },
  PodSandboxState: { values: 2, text: 'both', test: pods('a pod from RunPodSandbox to RemovePodSandbox') },
  ContainerState: { values: 4, text: 'CONTAINER_UNKNOWN is never told: a container whose runtime lost it has exited with reason Unknown', test: component('recovery')('L2 the shim of a container was killed while the daemon was away: exit code 255, Unknown') },
  Signal: { values: 66, text: 'all, SIGRTMIN+n and SIGRTMAX-n too', test: component('stop')('L9 stop signal: CRI SIGQUIT, image SIGUSR1: signal 3, also when the image is gone') },
  ContainerEventType: { values: 4, text: 'all', test: component('container-events')('T3: created, started, stopped, deleted in order, each with a status at least as new') },
  MetricType: { values: 2, text: 'both', test: component('metrics')('metrics of a pod and its container') },
  CgroupDriver: { values: 2, text: 'both', test: component('server')('Version, RuntimeConfig and Status say what the kubelet insists on') },
};
