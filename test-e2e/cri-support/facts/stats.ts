import { component, honoured, windowsField, type MessageFacts } from '../facts.js';

const stats = component('stats');

const CONTAINER = stats('ContainerStats of a running container, and of one that does not run');
const CONTAINERS = stats('ListContainerStats and StreamContainerStats filter alike');
const POD = stats('PodSandboxStats: the members together, the network, the processes and the containers');
const PODS = stats('ListPodSandboxStats and StreamPodSandboxStats: ready pods, filtered alike; the node\'s network is not the pod\'s');
const OWN_CGROUP = stats('a cgroup parent of the pod\'s own is the pod\'s usage; one that pods share is not');

/** What containers and pods use. */
export const STATS = {
  ContainerStatsRequest: { container_id: honoured('an id or its unambiguous beginning', CONTAINER) },
  ContainerStatsResponse: { stats: honoured('see ContainerStats', CONTAINER) },
  ListContainerStatsRequest: { filter: honoured('all conditions together', CONTAINERS) },
  ListContainerStatsResponse: { stats: honoured('one container never fails the list', CONTAINERS) },
  StreamContainerStatsRequest: { filter: honoured('as in ListContainerStats', CONTAINERS) },
  StreamContainerStatsResponse: { container_stats: honoured('about 1 MiB a message', CONTAINERS) },
  ContainerStatsFilter: {
    id: honoured('an id or its beginning', CONTAINERS),
    pod_sandbox_id: honoured('an id or its beginning', CONTAINERS),
    label_selector: honoured('every label as given', CONTAINERS),
  },
  ContainerStats: {
    attributes: honoured('see ContainerAttributes', CONTAINER),
    cpu: honoured('of a running container', CONTAINER),
    memory: honoured('of a running container', CONTAINER),
    writable_layer: honoured('as containerd measured it within the last ten seconds', CONTAINER),
    swap: honoured('where the kernel accounts swap', CONTAINER),
    io: honoured('where the kernel has PSI', CONTAINER),
  },
  ContainerAttributes: {
    id: honoured('the full id', CONTAINER),
    metadata: honoured('as it was given', CONTAINER),
    labels: honoured('as they were given', CONTAINER),
    annotations: honoured('as they were given', CONTAINER),
  },
  CpuUsage: {
    timestamp: honoured('when the cgroup was read', CONTAINER),
    usage_core_nano_seconds: honoured('cumulative', CONTAINER),
    usage_nano_cores: honoured('between two samples, absent with one', CONTAINER),
    psi: honoured('cgroup v2 with PSI', CONTAINER),
  },
  MemoryUsage: {
    timestamp: honoured('when the cgroup was read', CONTAINER),
    working_set_bytes: honoured('usage without inactive file pages', CONTAINER),
    available_bytes: honoured('what the limit leaves; absent without one', CONTAINER),
    usage_bytes: honoured('with the page cache', CONTAINER),
    rss_bytes: honoured('anonymous memory', CONTAINER),
    page_faults: honoured('cumulative', CONTAINER),
    major_page_faults: honoured('cumulative', CONTAINER),
    psi: honoured('cgroup v2 with PSI', CONTAINER),
  },
  SwapUsage: {
    timestamp: honoured('when the cgroup was read', CONTAINER),
    swap_available_bytes: honoured('what the limit leaves; absent without one', CONTAINER),
    swap_usage_bytes: honoured('swap alone, on cgroup v1 too', CONTAINER),
  },
  IoUsage: {
    timestamp: honoured('when the cgroup was read', CONTAINER),
    psi: honoured('cgroup v2 with PSI', CONTAINER),
  },
  PsiStats: {
    Full: honoured('all tasks stalled', CONTAINER),
    Some: honoured('some task stalled', CONTAINER),
  },
  PsiData: {
    Total: honoured('nanoseconds', CONTAINER),
    Avg10: honoured('per cent', CONTAINER),
    Avg60: honoured('per cent', CONTAINER),
    Avg300: honoured('per cent', CONTAINER),
  },
  UInt64Value: { value: honoured('see where it is used', CONTAINER) },
  PodSandboxStatsRequest: { pod_sandbox_id: honoured('an id or its unambiguous beginning', POD) },
  PodSandboxStatsResponse: { stats: honoured('see PodSandboxStats', POD) },
  ListPodSandboxStatsRequest: { filter: honoured('all conditions together', PODS) },
  ListPodSandboxStatsResponse: { stats: honoured('ready pods', PODS) },
  StreamPodSandboxStatsRequest: { filter: honoured('as in ListPodSandboxStats', PODS) },
  StreamPodSandboxStatsResponse: { pod_sandbox_stats: honoured('about 1 MiB a message', PODS) },
  PodSandboxStatsFilter: {
    id: honoured('an id or its beginning', PODS),
    label_selector: honoured('every label as given', PODS),
  },
  PodSandboxStats: {
    attributes: honoured('see PodSandboxAttributes', POD),
    linux: honoured('see LinuxPodSandboxStats', POD),
    windows: windowsField('never filled on Linux'),
  },
  PodSandboxAttributes: {
    id: honoured('the full id', POD),
    metadata: honoured('as it was given', POD),
    labels: honoured('as they were given', POD),
    annotations: honoured('as they were given', POD),
  },
  LinuxPodSandboxStats: {
    cpu: honoured('of the pod\'s cgroup, else its members together', POD),
    memory: honoured('of the pod\'s cgroup, else its members together', POD),
    network: honoured('the interfaces of the pod; absent on the node\'s network', POD),
    process: honoured('processes of the pod', POD),
    containers: honoured('every container of the pod', POD),
    io: honoured('of the pod\'s own cgroup, where the kernel has PSI', OWN_CGROUP),
  },
  NetworkUsage: {
    timestamp: honoured('when it was read', POD),
    default_interface: honoured('eth0', POD),
    interfaces: honoured('all but loopback; eth0 too, as with containerd\'s plugin: the kubelet\'s summary takes them as they are', POD),
  },
  NetworkInterfaceUsage: {
    name: honoured('inside the pod', POD),
    rx_bytes: honoured('cumulative', POD),
    rx_errors: honoured('cumulative', POD),
    tx_bytes: honoured('cumulative', POD),
    tx_errors: honoured('cumulative', POD),
  },
  ProcessUsage: {
    timestamp: honoured('when the cgroup was read', POD),
    process_count: honoured('processes, not threads', POD),
  },
} satisfies MessageFacts;
