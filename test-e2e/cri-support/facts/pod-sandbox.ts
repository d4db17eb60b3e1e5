import { component, honoured, ignored, windowsField, type MessageFacts } from '../facts.js';

const make = component('run-pod-sandbox');
const life = component('pod-life');
const events = component('container-events');

const NAMES = make('RunPodSandbox: metadata, labels, annotations and handler come back in status and list, and CNI is told the names');
const PAUSE = make('RunPodSandbox: host name, cgroup parent, sysctls and resources reach the pause process');
const LOGS_AND_DNS = make('RunPodSandbox: the log directory is where containers log, and the DNS configuration what they resolve by');
const NAMESPACES = make('RunPodSandbox: namespaces by mode, and the status tells them');
const IDENTITY = make('RunPodSandbox: user, groups and SELinux options of the pause process');
const SECCOMP = make('RunPodSandbox: the seccomp profile of the pause process; seccomp_profile_path counts where seccomp is absent');
const NOT_TAKEN = make('RunPodSandbox: what the pause process does not take: a writable root, a groups policy');
const STOP = make('StopPodSandbox and RemovePodSandbox act on the pod that is named');
const ROUND = life('a pod from RunPodSandbox to RemovePodSandbox');
const FILTERS = life('ListPodSandbox and ListContainers: every filter, alone and together');
const CNI = life('what CNI is told: args, port mappings, bandwidth, DNS, by the capabilities a plugin names');
const VERBOSE = life('verbose status: what crictl inspectp and inspect show');
const STATUSES = events('PodSandboxStatus has the statuses of the pod\'s containers and their time');
const STREAMED = component('stats')('the other Stream calls give what the lists give, in messages of about a megabyte');
const UPDATE = component('update-resources')('UpdatePodSandboxResources goes into the pod\'s configuration, also across a restart');

/** A pod: how it is made, stopped, removed, shown and listed. */
export const POD_SANDBOX = {
  RunPodSandboxRequest: {
    config: honoured('the pod', NAMES),
    runtime_handler: honoured('one of `[runtime.handlers]`; empty is the default one; an unknown one is InvalidArgument', NAMES),
  },
  RunPodSandboxResponse: { pod_sandbox_id: honoured('64 hex digits', ROUND) },
  PodSandboxConfig: {
    metadata: honoured('the pod\'s name; missing is InvalidArgument', NAMES),
    hostname: honoured('host name in the pod\'s UTS namespace and its /etc/hostname; not on the node\'s network, where it would be the node\'s', PAUSE),
    log_directory: honoured('where containers\' `log_path` lies; made when missing', LOGS_AND_DNS),
    dns_config: honoured('the pod\'s /etc/resolv.conf and CNI\'s `dns` capability; without it the node\'s resolv.conf', LOGS_AND_DNS),
    port_mappings: honoured('CNI\'s `portMappings` capability', CNI),
    labels: honoured('kept, shown and filtered by', NAMES),
    annotations: honoured('kept and shown; bandwidth annotations become CNI\'s `bandwidth` capability', NAMES),
    linux: honoured('see LinuxPodSandboxConfig', PAUSE),
    windows: windowsField('ignored on Linux'),
  },
  PodSandboxMetadata: {
    name: honoured('status, lists, CNI_ARGS; empty or with "/" it is InvalidArgument', NAMES),
    uid: honoured('status, lists, CNI_ARGS', NAMES),
    namespace: honoured('status, lists, CNI_ARGS', NAMES),
    attempt: honoured('part of the name by which a retry finds its pod', NAMES),
  },
  DNSConfig: {
    servers: honoured('nameserver lines', LOGS_AND_DNS),
    searches: honoured('the search line', LOGS_AND_DNS),
    options: honoured('the options line', LOGS_AND_DNS),
  },
  PortMapping: {
    protocol: honoured('tcp, udp or sctp for the plugin', CNI),
    container_port: honoured('0 to 65535', CNI),
    host_port: honoured('0 maps nothing', CNI),
    host_ip: honoured('the address of the node it is mapped on; empty is all', CNI),
  },
  LinuxPodSandboxConfig: {
    cgroup_parent: honoured('parent of all cgroups of the pod; it must be of the handler\'s cgroup driver', PAUSE),
    security_context: honoured('see LinuxSandboxSecurityContext', IDENTITY),
    sysctls: honoured('set in the pod\'s namespaces; one that is not the pod\'s own is InvalidArgument', PAUSE),
    overhead: honoured('kept and shown in the verbose status; the kubelet applies it to the pod\'s cgroup', PAUSE),
    resources: honoured('annotations of the pause process, for runtimes that size a machine by them; the kubelet applies them to the pod\'s cgroup', PAUSE),
  },
  StopPodSandboxRequest: { pod_sandbox_id: honoured('an id or its unambiguous beginning', STOP) },
  RemovePodSandboxRequest: { pod_sandbox_id: honoured('an id or its unambiguous beginning', STOP) },
  PodSandboxStatusRequest: {
    pod_sandbox_id: honoured('an id or its unambiguous beginning', ROUND),
    verbose: honoured('adds `info`', VERBOSE),
  },
  PodSandboxStatusResponse: {
    status: honoured('see PodSandboxStatus', ROUND),
    info: honoured('`info`: JSON with pid, netns, runtime, configuration and runtime spec', VERBOSE),
    containers_statuses: honoured('every container of the pod', STATUSES),
    timestamp: honoured('when the statuses were taken', STATUSES),
  },
  PodSandboxStatus: {
    id: honoured('the full id', ROUND),
    metadata: honoured('as it was given', NAMES),
    state: honoured('NOTREADY when the pause process has ended, whatever ended it', ROUND),
    created_at: honoured('nanoseconds', ROUND),
    network: honoured('the addresses of eth0', ROUND),
    linux: honoured('the namespaces', NAMESPACES),
    labels: honoured('as they were given', NAMES),
    annotations: honoured('as they were given', NAMES),
    runtime_handler: honoured('as it was asked for', NAMES),
  },
  PodSandboxNetworkStatus: {
    ip: honoured('the first address, IPv4 before IPv6; empty on the node\'s network', ROUND),
    additional_ips: honoured('the further ones', ROUND),
  },
  PodIP: { ip: honoured('an address without its prefix length', ROUND) },
  LinuxPodSandboxStatus: { namespaces: honoured('see Namespace', NAMESPACES) },
  Namespace: { options: honoured('as they were asked for', NAMESPACES) },
  ListPodSandboxRequest: { filter: honoured('all conditions together', FILTERS) },
  ListPodSandboxResponse: { items: honoured('in the order of creation', FILTERS) },
  PodSandboxFilter: {
    id: honoured('an id or its beginning', FILTERS),
    state: honoured('ready or not', FILTERS),
    label_selector: honoured('every label as given', FILTERS),
  },
  PodSandboxStateValue: { state: honoured('see PodSandboxFilter', FILTERS) },
  PodSandbox: {
    id: honoured('the full id', NAMES),
    metadata: honoured('as it was given', NAMES),
    state: honoured('ready or not', STOP),
    created_at: honoured('nanoseconds', ROUND),
    labels: honoured('as they were given', NAMES),
    annotations: honoured('as they were given', NAMES),
    runtime_handler: honoured('as it was asked for', NAMES),
  },
  StreamPodSandboxesRequest: { filter: honoured('as in ListPodSandbox', STREAMED) },
  StreamPodSandboxesResponse: { pod_sandboxes: honoured('about 1 MiB a message; no message for an empty list', STREAMED) },
  UpdatePodSandboxResourcesRequest: {
    pod_sandbox_id: honoured('an id or its unambiguous beginning', UPDATE),
    overhead: honoured('replaces the pod\'s in its record', UPDATE),
    resources: honoured('replaces the pod\'s in its record', UPDATE),
  },
  LinuxSandboxSecurityContext: {
    namespace_options: honoured('see NamespaceOption', NAMESPACES),
    selinux_options: honoured('labels of the pause process, and of containers without their own', IDENTITY),
    run_as_user: honoured('of the pause process', IDENTITY),
    run_as_group: honoured('of the pause process; needs run_as_user', IDENTITY),
    readonly_rootfs: ignored('the root of the pause process is always read-only', NOT_TAKEN),
    supplemental_groups: honoured('of the pause process', IDENTITY),
    supplemental_groups_policy: ignored('the pause process has numbers only and no /etc/group, so that Merge and Strict are the same', NOT_TAKEN),
    privileged: honoured('no seccomp for the pause process, writable sysfs; privileged containers need it', make('RunPodSandbox: a privileged pod is unconfined, and its sysfs can be written to')),
    seccomp: honoured('filter of the pause process', SECCOMP),
    apparmor: honoured('of the pause process, only where it is asked for', component('security-context')('AppArmor: of a sandbox, only where it asks')),
    seccomp_profile_path: honoured('counts where `seccomp` is absent', SECCOMP),
  },
} satisfies MessageFacts;
