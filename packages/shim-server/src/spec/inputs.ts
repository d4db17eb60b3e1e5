import type { ContainerConfig, PodSandboxConfig } from '@criquet/cri-api';
import type {
  ImageRunConfig,
  LinuxBlockIo,
  LinuxDevice,
  LinuxDeviceCgroup,
  LinuxSeccomp,
  RuntimeSpec,
  SpecMount,
} from '@criquet/runtime-containerd';
import type { NodeFacts } from './node-facts.js';
import type { NodePolicy } from './node-policy.js';

/** A process's identity with every name looked up; `additionalGids` is sorted, without repeats, and holds `gid`. */
export interface ResolvedUser {
  uid: number;
  gid: number;
  additionalGids: number[];
}

/** The files of a pod on the node that its containers see, by host path. */
export interface PodFiles {
  /** Bound on `/etc/hosts`. */
  hosts: string;
  /** Bound on `/etc/hostname`. */
  hostname: string;
  /** Bound on `/etc/resolv.conf`. */
  resolvConf: string;
  /** Bound on `/dev/shm`: the pod's own tmpfs, or the node's `/dev/shm` with host IPC. */
  shm: string;
}

/** Device nodes and what the cgroup lets a container do with them, as `resolveDevices` finds them. */
export interface ResolvedDevices {
  devices: LinuxDevice[];
  rules: LinuxDeviceCgroup[];
}

/** CRI's mounts with checked, symlink-free sources, as `prepareMounts` makes them. */
export interface PreparedMounts {
  /** In the order of the request. */
  binds: SpecMount[];
  /** What the container's root needs for the mounts' propagation; nothing when all are private. */
  rootfsPropagation?: 'rshared' | 'rslave';
  /** Host directories that did not exist and were made. They stay when the container goes, as with containerd's plugin. */
  createdSources: string[];
}

/** What `buildSandboxSpec` needs. */
export interface SandboxSpecInput {
  /** 64 hex digits. */
  id: string;
  config: PodSandboxConfig;
  /** The pinned network namespace; undefined with host network. */
  netnsPath: string | undefined;
  /** The pinned user namespace, which owns the network namespace; undefined without one, and with host network, where the runtime makes it. */
  usernsPath?: string | undefined;
  node: NodeFacts;
  /** `resolvConf` is for runtimes that start a machine and read it from the sandbox; without it nothing is bound there. */
  files: { shm: string; resolvConf?: string };
  /** A configured `sandbox_image`'s config; without one the built-in `/pause` runs. */
  imageConfig?: ImageRunConfig;
  /** Reported in an annotation; empty for the built-in pause. */
  imageName?: string;
  /** Default: the numbers of `linux.security_context`, or root. */
  user?: ResolvedUser;
  /** From `resolveSeccomp`. */
  seccomp?: LinuxSeccomp | undefined;
  /** The SELinux level that was chosen for the pod. */
  selinuxLevel?: string | undefined;
  /** From `resolveAppArmor`. */
  apparmorProfile?: string | undefined;
  /** containerd namespace, the cgroup parent where CRI gives none; default `k8s.io`. */
  namespace?: string;
  /** Annotations that the runtime handler's configuration lets through. */
  passthroughAnnotations?: Record<string, string>;
}

/** What the runtime handler's configuration says of its containers. */
export interface HandlerSpecInput {
  /** Default: the specs are made from nothing. */
  baseSpec?: RuntimeSpec | undefined;
  /** Default false. */
  cgroupWritable?: boolean;
}

/** What `buildContainerSpec` needs. */
export interface ContainerSpecInput {
  /** 64 hex digits. */
  id: string;
  sandboxId: string;
  /** Of the pause process, for the namespaces the pod shares. */
  sandboxPid: number;
  sandboxConfig: PodSandboxConfig;
  /** The pod's pinned network namespace; undefined with host network. */
  podNetnsPath: string | undefined;
  config: ContainerConfig;
  imageConfig: ImageRunConfig;
  /** Reported in the annotation `io.kubernetes.cri.image-name`. */
  imageName: string;
  /** From `resolveUser`; `ROOT_USER` stands in while the root file system does not exist yet. */
  user: ResolvedUser;
  node: NodeFacts;
  /** Of the pod, mounted where CRI mounts nothing else. */
  files: PodFiles;
  /** From `prepareMounts`. */
  mounts: PreparedMounts;
  /** From `resolveDevices`. */
  devices: ResolvedDevices;
  /** From `resolveSeccomp`. */
  seccomp: LinuxSeccomp | undefined;
  /** From `resolveAppArmor`. */
  apparmorProfile: string | undefined;
  /** Default: nothing beyond CRI. */
  policy?: NodePolicy;
  /** From `blockIoClass`. */
  blockIo?: LinuxBlockIo | undefined;
  /** From `rdtClass`: a class of resctrl. */
  rdtClass?: string | undefined;
  /** Volumes that the shim itself keeps for the container (the image's `VOLUME`s), mounted where CRI mounts nothing else. */
  volumes?: readonly { containerPath: string; hostPath: string }[];
  /** With PID namespace mode TARGET: the init process of the container `target_id`. */
  targetPid?: number;
  /** The SELinux level that was chosen for the pod. */
  selinuxLevel?: string | undefined;
  /** containerd namespace, the cgroup parent where CRI gives none; default `k8s.io`. */
  namespace?: string;
  /** What the runtime handler's configuration says. */
  handler?: HandlerSpecInput;
  /** Annotations that the runtime handler's configuration lets through. */
  passthroughAnnotations?: Record<string, string>;
}
