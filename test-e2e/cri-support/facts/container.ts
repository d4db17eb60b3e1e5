import { component, honoured, ignored, windowsField, type MessageFacts } from '../facts.js';

const make = component('create-container');
const life = component('container-life');
const pods = component('pod-life');
const updates = component('update-resources');
const stop = component('stop');

const OWN_POD = make('CreateContainer: the pod is the one that is named, and its configuration is the one it was made with');
const PROCESS = make('CreateContainer: the process: command, arguments, directory, environment, terminal');
const SHOWN = make('CreateContainer: metadata, labels, annotations, image and log path come back in status and list');
const mounts = component('mount-fields');
const MOUNT_PATHS = mounts('Mount.container_path, host_path and readonly');
const MAPPED = mounts('Mount.uidMappings and gidMappings');
const IMAGE_VOLUME = component('image-volumes')('an image as a volume: bound read-only into the container, with its id in the status, and gone with the container');
const DEVICES = make('CreateContainer: devices: path on the node, path inside, permissions');
const CDI = component('container-devices')('X7 CDI: what a device edits is in the spec; a spec file that appears after the start counts');
const RESOURCES = component('container-resources')('resources of a new container, each where the runtime looks for it');
const STATUS = component('container-status')('ContainerStatus of a container that has failed: everything about it');
const FAILED_START = component('container-status')('ContainerStatus of a container that could not be started: the reason and the message');
const FILTERS = pods('ListPodSandbox and ListContainers: every filter, alone and together');
const VERBOSE = pods('verbose status: what crictl inspectp and inspect show');
const ROUND = life('a container from CreateContainer to RemoveContainer');
const ROTATION = life('G2 rotation: the new file exists when ReopenContainerLog returns; G3 the directory is made');
const STREAMED = component('stats')('the other Stream calls give what the lists give, in messages of about a megabyte');
const STDIN_ONCE = component('streaming')('S6 attach: several clients see the output beside the log; stdin_once closes the input and output runs to the exit');
const STOP = stop('StopContainer: SIGKILL to all its processes when the time is over');
const SIGNAL = stop('L9 stop signal: CRI SIGQUIT, image SIGUSR1: signal 3, also when the image is gone');
const UPDATED = updates('R2: created, running, exited: spec, cgroup and status agree');
const UPDATE_ANNOTATIONS = updates('annotations reach the runtime; unknown containers and Windows values are refused');

/** A container: how it is made, started, stopped, shown and changed. */
export const CONTAINER = {
  CreateContainerRequest: {
    pod_sandbox_id: honoured('a ready pod', OWN_POD),
    config: honoured('the container', PROCESS),
    sandbox_config: ignored('what RunPodSandbox was given counts: the pod was made by it', OWN_POD),
  },
  CreateContainerResponse: { container_id: honoured('64 hex digits', ROUND) },
  ContainerConfig: {
    metadata: honoured('the container\'s name in its pod; missing is InvalidArgument', SHOWN),
    image: honoured('see ImageSpec; it must be there', SHOWN),
    command: honoured('replaces the image\'s entrypoint and cmd', PROCESS),
    args: honoured('replaces the image\'s cmd', PROCESS),
    working_dir: honoured('absolute; else the image\'s, else /', PROCESS),
    envs: honoured('over the image\'s', PROCESS),
    mounts: honoured('see Mount', MOUNT_PATHS),
    devices: honoured('see Device', DEVICES),
    labels: honoured('kept, shown and filtered by', SHOWN),
    annotations: honoured('kept and shown', SHOWN),
    log_path: honoured('below the pod\'s log_directory; empty keeps no log', SHOWN),
    stdin: honoured('a stdin for Attach; without it /dev/null', component('streaming')('S6 attach without stdin_once: the end of the input ends the attach, not the container; a second client follows')),
    stdin_once: honoured('the first client\'s end of input is the container\'s', STDIN_ONCE),
    tty: honoured('a terminal: one stream, resize', PROCESS),
    linux: honoured('see LinuxContainerConfig', RESOURCES),
    windows: windowsField('ignored on Linux'),
    CDI_devices: honoured('see CDIDevice', CDI),
    stop_signal: honoured('over the image\'s StopSignal, over SIGTERM', SIGNAL),
  },
  ContainerMetadata: {
    name: honoured('status, lists; empty or with "/" it is InvalidArgument', SHOWN),
    attempt: honoured('part of the name by which a retry finds its container', SHOWN),
  },
  KeyValue: {
    key: honoured('not empty, no "=" and no NUL', PROCESS),
    value: honoured('UTF-8 without NUL; never in a message or a log', PROCESS),
  },
  Mount: {
    container_path: honoured('not the root', MOUNT_PATHS),
    host_path: honoured('links are followed; a missing one becomes a directory, as with containerd\'s plugin', MOUNT_PATHS),
    readonly: honoured('ro', MOUNT_PATHS),
    selinux_relabel: honoured('what is mounted gets the container\'s label where SELinux is on', component('selinux')('Mount.selinux_relabel: what is mounted gets the container\'s label, and so do the pod\'s files; links are not followed')),
    propagation: honoured('checked against the source: bidirectional needs a shared one', mounts('R4 Mount.propagation: each mode, and a clear error where the source takes no part')),
    uidMappings: honoured('ids of the mount as the container sees them, by an idmapped mount; without overlaps, of an image those of the pod', MAPPED),
    gidMappings: honoured('see uidMappings', MAPPED),
    recursive_read_only: honoured('rro; needs readonly and private propagation; RROUnsupported where runtime or kernel lack it', mounts('Mount.recursive_read_only')),
    image: honoured('a read-only view of the image, which must be there', IMAGE_VOLUME),
    image_sub_path: honoured('a directory of the image; links stay inside of it', component('image-volumes')('image_sub_path: a directory of the image, whatever links lead to it')),
    mount_options: honoured('noexec, nodev, nosuid', mounts('Mount.mount_options')),
  },
  Device: {
    container_path: honoured('as on the node when empty', DEVICES),
    host_path: honoured('a device, a link to one, or a directory of them', DEVICES),
    permissions: honoured('of r, w and m; rwm when empty', DEVICES),
  },
  CDIDevice: { name: honoured('edits of a specification in the CDI directories, which are read anew; an unknown device is FailedPrecondition', CDI) },
  LinuxContainerConfig: {
    resources: honoured('see LinuxContainerResources', RESOURCES),
    security_context: honoured('see LinuxContainerSecurityContext', component('security-context')('capabilities, no_new_privs, masked and read-only paths, read-only root')),
  },
  LinuxContainerResources: {
    cpu_period: honoured('microseconds; 0 is not set', RESOURCES),
    cpu_quota: honoured('microseconds; -1 is unlimited, 0 not set', RESOURCES),
    cpu_shares: honoured('2 to 262144; the runtime makes a weight of it on cgroup v2', RESOURCES),
    memory_limit_in_bytes: honoured('-1 is unlimited, 0 not set', RESOURCES),
    oom_score_adj: honoured('never below what the daemon may set', RESOURCES),
    cpuset_cpus: honoured('the kernel\'s list format', RESOURCES),
    cpuset_mems: honoured('the kernel\'s list format', RESOURCES),
    hugepage_limits: honoured('see HugepageLimit', RESOURCES),
    unified: honoured('files of cgroup v2; FailedPrecondition on v1', RESOURCES),
    memory_swap_limit_in_bytes: honoured('memory and swap together, not below the memory limit; without it no swap', RESOURCES),
  },
  HugepageLimit: {
    page_size: honoured('one the node has, such as 2MB', RESOURCES),
    limit: honoured('bytes', RESOURCES),
  },
  StartContainerRequest: { container_id: honoured('an id or its unambiguous beginning', ROUND) },
  StopContainerRequest: {
    container_id: honoured('an id or its unambiguous beginning', STOP),
    timeout: honoured('seconds until SIGKILL; 0 kills at once, less is refused', stop('StopContainer: the stop signal, and the exit is recorded when the call returns')),
  },
  RemoveContainerRequest: { container_id: honoured('an id or its unambiguous beginning', ROUND) },
  ListContainersRequest: { filter: honoured('all conditions together', FILTERS) },
  ListContainersResponse: { containers: honoured('in the order of creation', FILTERS) },
  ContainerFilter: {
    id: honoured('an id or its beginning', FILTERS),
    state: honoured('as given', FILTERS),
    pod_sandbox_id: honoured('an id or its beginning', FILTERS),
    label_selector: honoured('every label as given', FILTERS),
  },
  ContainerStateValue: { state: honoured('see ContainerFilter', FILTERS) },
  Container: {
    id: honoured('the full id', SHOWN),
    pod_sandbox_id: honoured('the full id', SHOWN),
    metadata: honoured('as it was given', SHOWN),
    image: honoured('as it was asked for', SHOWN),
    image_ref: honoured('the image\'s id', SHOWN),
    state: honoured('created, running, exited', ROUND),
    created_at: honoured('nanoseconds', SHOWN),
    labels: honoured('as they were given', SHOWN),
    annotations: honoured('as they were given', SHOWN),
    image_id: honoured('the image\'s id', SHOWN),
  },
  StreamContainersRequest: { filter: honoured('as in ListContainers', STREAMED) },
  StreamContainersResponse: { containers: honoured('about 1 MiB a message; no message for an empty list', STREAMED) },
  ContainerStatusRequest: {
    container_id: honoured('an id or its unambiguous beginning', STATUS),
    verbose: honoured('adds `info`', VERBOSE),
  },
  ContainerStatusResponse: {
    status: honoured('see ContainerStatus', STATUS),
    info: honoured('`info`: JSON with pid, snapshot, runtime, configuration and runtime spec', VERBOSE),
  },
  ContainerStatus: {
    id: honoured('the full id', STATUS),
    metadata: honoured('as it was given', STATUS),
    state: honoured('created, running, exited', STATUS),
    created_at: honoured('nanoseconds', STATUS),
    started_at: honoured('nanoseconds, 0 before', STATUS),
    finished_at: honoured('nanoseconds, 0 before; not before started_at', STATUS),
    exit_code: honoured('255 when the runtime lost it', STATUS),
    image: honoured('by a tag it has now, else as it was asked for', STATUS),
    image_ref: honoured('a repo digest, else the id', STATUS),
    reason: honoured('Completed, Error, OOMKilled, StartError, Unknown', STATUS),
    message: honoured('why it could not be started', FAILED_START),
    labels: honoured('as they were given', STATUS),
    annotations: honoured('as they were given', STATUS),
    mounts: honoured('as they were asked for', STATUS),
    log_path: honoured('the full path', STATUS),
    resources: honoured('as they are now', STATUS),
    image_id: honoured('the image\'s id', STATUS),
    user: honoured('as it was looked up', STATUS),
    stop_signal: honoured('the one that StopContainer sends', STATUS),
  },
  ContainerResources: {
    linux: honoured('as they are now', STATUS),
    windows: windowsField('never filled on Linux'),
  },
  UpdateContainerResourcesRequest: {
    container_id: honoured('an id or its unambiguous beginning', UPDATED),
    linux: honoured('what is not set stays as it is', UPDATED),
    windows: windowsField('InvalidArgument when it comes alone', UPDATE_ANNOTATIONS),
    annotations: honoured('handed to the runtime with the update', UPDATE_ANNOTATIONS),
  },
  ReopenContainerLogRequest: { container_id: honoured('an id or its unambiguous beginning', ROTATION) },
} satisfies MessageFacts;
