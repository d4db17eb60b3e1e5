import { component, honoured, type CallFacts } from '../facts.js';

const server = component('server');
const pods = component('pod-life');
const makePod = component('run-pod-sandbox');
const life = component('container-life');
const images = component('images');
const stats = component('stats');
const streaming = component('streaming');

const ROUND = 'a container from CreateContainer to RemoveContainer';
const POD_ROUND = 'a pod from RunPodSandbox to RemovePodSandbox';
const FILTERS = 'ListPodSandbox and ListContainers: every filter, alone and together';
const STREAMED = 'the other Stream calls give what the lists give, in messages of about a megabyte';

export const CALLS = {
  RuntimeService: {
    Version: honoured('Name and version of criquet, and the API version that the kubelet insists on.', server('Version, RuntimeConfig and Status say what the kubelet insists on')),
    RunPodSandbox: honoured('Pins a network namespace, attaches it by CNI and starts the pause process. A retry joins the creation under way or gets the ready pod.', pods(POD_ROUND)),
    StopPodSandbox: honoured('Stops the containers, detaches the network and ends the pause process. Again, or for an unknown id: OK.', makePod('StopPodSandbox and RemovePodSandbox act on the pod that is named')),
    RemovePodSandbox: honoured('Stops what runs and removes everything the pod has on the node. For an unknown id: OK.', makePod('StopPodSandbox and RemovePodSandbox act on the pod that is named')),
    PodSandboxStatus: honoured('From the record; with the statuses of the pod\'s containers.', pods(POD_ROUND)),
    ListPodSandbox: honoured('From the index; no shim is asked.', pods(FILTERS)),
    StreamPodSandboxes: honoured('The same as ListPodSandbox in messages of about 1 MiB.', stats(STREAMED)),
    CreateContainer: honoured('Makes record, snapshot and runtime spec. A retry joins the creation under way or gets the container while it lives.', life(ROUND)),
    StartContainer: honoured('Starts a created container once. A failure leaves it exited with reason StartError.', life(ROUND)),
    StopContainer: honoured('Stop signal, then SIGKILL after the timeout; of several stops the earliest deadline wins. For an unknown id: OK.', component('stop')('StopContainer: the stop signal, and the exit is recorded when the call returns')),
    RemoveContainer: honoured('Kills what runs, then removes all of it. For an unknown id: OK.', life(ROUND)),
    ListContainers: honoured('From the index; no shim is asked.', pods(FILTERS)),
    StreamContainers: honoured('The same as ListContainers in messages of about 1 MiB.', stats(STREAMED)),
    ContainerStatus: honoured('From the record; true after a restart of the daemon too.', component('container-status')('ContainerStatus of a container that has failed: everything about it')),
    UpdateContainerResources: honoured('Changes the cgroup, then spec and record; an error sets all three back.', component('update-resources')('R2: created, running, exited: spec, cgroup and status agree')),
    ReopenContainerLog: honoured('Opens the log anew at its path, for rotation. FailedPrecondition for a container that does not run.', life('G2 rotation: the new file exists when ReopenContainerLog returns; G3 the directory is made')),
    ExecSync: honoured('Runs a command to its end; both outputs together are bounded.', component('exec-sync')('output of both streams, exit code, and nothing left')),
    Exec: honoured('A URL good for one SPDY or WebSocket session.', streaming('S5 exec over SPDY v4.channel.k8s.io: streams, half-close of stdin, exit code')),
    Attach: honoured('A URL good for one session; several clients may be attached.', streaming('S6 attach to a terminal with an immediate resize')),
    PortForward: honoured('A URL good for one session; the connection is made inside the pod\'s network namespace, to IPv4 or IPv6 loopback.', streaming('port-forward over SPDY: half-close both ways, many at once, a port where nobody listens')),
    ContainerStats: honoured('Read from the kernel\'s files; the size of the layer from containerd.', stats('ContainerStats of a running container, and of one that does not run')),
    ListContainerStats: honoured('All containers; one that does not run has no CPU and memory.', stats('ListContainerStats and StreamContainerStats filter alike')),
    StreamContainerStats: honoured('The same as ListContainerStats in messages of about 1 MiB.', stats('ListContainerStats and StreamContainerStats filter alike')),
    PodSandboxStats: honoured('Of the pod\'s own cgroup where it has one, else its members together.', stats('PodSandboxStats: the members together, the network, the processes and the containers')),
    ListPodSandboxStats: honoured('Every ready pod.', stats('ListPodSandboxStats and StreamPodSandboxStats: ready pods, filtered alike; the node\'s network is not the pod\'s')),
    StreamPodSandboxStats: honoured('The same as ListPodSandboxStats in messages of about 1 MiB.', stats('ListPodSandboxStats and StreamPodSandboxStats: ready pods, filtered alike; the node\'s network is not the pod\'s')),
    UpdateRuntimeConfig: honoured('Renders `cni.conf_template` for the pod CIDR.', component('network')('UpdateRuntimeConfig renders the template for the pod CIDR, and leaves others\' configuration alone')),
    Status: honoured('Whether containerd answers and pods can get a network.', server('Version, RuntimeConfig and Status say what the kubelet insists on')),
    CheckpointContainer: honoured('Dumps a running container by CRIU into an archive that CreateContainer takes as an image.', component('checkpoint-container')('CheckpointContainer: an archive at location, mode 0600, of processes, root file system, log and documents')),
    CheckpointPod: honoured('Pauses all containers, dumps all, resumes all.', component('checkpoint-pod')('CheckpointPod: all are paused before the first is dumped, and all go on')),
    RestorePod: honoured('Runs the pod and creates its containers from a checkpoint; StartContainer restores them.', component('checkpoint-pod')('RestorePod: a sandbox and created containers, by name, that StartContainer restores')),
    GetContainerEvents: honoured('Created, started, stopped and deleted of containers and pods, from the moment of the call, in the order of the changes.', component('container-events')('T3: created, started, stopped, deleted in order, each with a status at least as new')),
    ListMetricDescriptors: honoured('Every metric of ListPodSandboxMetrics, by cAdvisor\'s names.', component('metrics')('every metric has a descriptor with as many labels')),
    ListPodSandboxMetrics: honoured('Metrics of every ready pod and its running containers.', component('metrics')('metrics of a pod and its container')),
    StreamPodSandboxMetrics: honoured('The same as ListPodSandboxMetrics in messages of about 1 MiB.', component('metrics')('metrics of a pod and its container')),
    RuntimeConfig: honoured('The cgroup driver of the default runtime handler.', server('Version, RuntimeConfig and Status say what the kubelet insists on')),
    UpdatePodSandboxResources: honoured('Keeps the pod\'s resources and overhead in its record; the kubelet has changed the pod\'s cgroup itself.', component('update-resources')('UpdatePodSandboxResources goes into the pod\'s configuration, also across a restart')),
  },
  ImageService: {
    ListImages: honoured('From the index of containerd\'s images, also those that other clients made.', images('an image is found by every form of its name, and by the beginning of its id')),
    StreamImages: honoured('The same as ListImages in messages of about 1 MiB.', stats(STREAMED)),
    ImageStatus: honoured('By tag, digest, id or the beginning of an id; an empty reply for an unknown image.', images('an image is found by every form of its name, and by the beginning of its id')),
    PullImage: honoured('Through containerd\'s Transfer service; a stalled download ends with an error, and so does the pull of a caller that went away.', images('PullImage: the id is the digest of the config, everywhere')),
    RemoveImage: honoured('All names of the image go. For an unknown image: OK.', images('I3 one image under three names: RemoveImage by any of them removes all')),
    ImageFsInfo: honoured('The snapshotter\'s file system and what is used on it.', images('ImageFsInfo: the snapshotter\'s file system and what is used on it')),
  },
} satisfies CallFacts;
