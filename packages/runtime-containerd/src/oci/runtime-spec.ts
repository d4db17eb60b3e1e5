/**
 * The OCI runtime specification 1.3 as far as Linux goes: what a container's `config.json` holds.
 *
 * Field names and meaning are those of the specification (https://github.com/opencontainers/runtime-spec, config.md and
 * config-linux.md). The interfaces are writable on purpose: a spec is put together piece by piece.
 */

/** An integer of 64 bits: a number where that is exact, otherwise a bigint (an unlimited rlimit is 2^64-1). */
export type WideInteger = number | bigint;

export interface RuntimeSpec {
  /** The version of the specification the document keeps to, for example `1.2.1`. */
  ociVersion: string;
  process?: SpecProcess;
  root?: SpecRoot;
  hostname?: string;
  domainname?: string;
  /** Mounted in this order. */
  mounts?: SpecMount[];
  hooks?: SpecHooks;
  annotations?: Record<string, string>;
  linux?: SpecLinux;
}

export interface SpecProcess {
  terminal?: boolean;
  /** Only with `terminal`; in characters. */
  consoleSize?: { height: number; width: number };
  user: SpecUser;
  args?: string[];
  /** `NAME=value` each. */
  env?: string[];
  /** Absolute. */
  cwd: string;
  capabilities?: LinuxCapabilities;
  rlimits?: PosixRlimit[];
  noNewPrivileges?: boolean;
  apparmorProfile?: string;
  /** -1000 to 1000. */
  oomScoreAdj?: number;
  scheduler?: LinuxScheduler;
  selinuxLabel?: string;
  ioPriority?: LinuxIoPriority;
  execCPUAffinity?: { initial?: string; final?: string };
}

export interface SpecUser {
  uid: number;
  gid: number;
  umask?: number;
  additionalGids?: number[];
}

/** Names as in capabilities(7), for example `CAP_NET_ADMIN`. */
export interface LinuxCapabilities {
  bounding?: string[];
  effective?: string[];
  inheritable?: string[];
  permitted?: string[];
  ambient?: string[];
}

export interface PosixRlimit {
  /** For example `RLIMIT_NOFILE`. */
  type: string;
  hard: WideInteger;
  soft: WideInteger;
}

export interface LinuxScheduler {
  policy: 'SCHED_OTHER' | 'SCHED_FIFO' | 'SCHED_RR' | 'SCHED_BATCH' | 'SCHED_ISO' | 'SCHED_IDLE' | 'SCHED_DEADLINE';
  nice?: number;
  priority?: number;
  flags?: (
    | 'SCHED_FLAG_RESET_ON_FORK'
    | 'SCHED_FLAG_RECLAIM'
    | 'SCHED_FLAG_DL_OVERRUN'
    | 'SCHED_FLAG_KEEP_POLICY'
    | 'SCHED_FLAG_KEEP_PARAMS'
    | 'SCHED_FLAG_UTIL_CLAMP_MIN'
    | 'SCHED_FLAG_UTIL_CLAMP_MAX'
  )[];
  runtime?: WideInteger;
  deadline?: WideInteger;
  period?: WideInteger;
}

export interface LinuxIoPriority {
  class: 'IOPRIO_CLASS_RT' | 'IOPRIO_CLASS_BE' | 'IOPRIO_CLASS_IDLE';
  priority: number;
}

export interface SpecRoot {
  /** Absolute, or relative to the bundle; containerd mounts a task's root file system on `rootfs`. */
  path: string;
  readonly?: boolean;
}

export interface SpecMount {
  destination: string;
  type?: string;
  source?: string;
  /** fstab-like, for example `rbind`, `rprivate`, `ro`, `nosuid`. */
  options?: string[];
  uidMappings?: LinuxIdMapping[];
  gidMappings?: LinuxIdMapping[];
}

export interface SpecHooks {
  /** Deprecated by the specification. */
  prestart?: SpecHook[];
  createRuntime?: SpecHook[];
  createContainer?: SpecHook[];
  startContainer?: SpecHook[];
  poststart?: SpecHook[];
  poststop?: SpecHook[];
}

export interface SpecHook {
  path: string;
  args?: string[];
  env?: string[];
  /** Seconds. */
  timeout?: number;
}

export interface SpecLinux {
  uidMappings?: LinuxIdMapping[];
  gidMappings?: LinuxIdMapping[];
  sysctl?: Record<string, string>;
  resources?: LinuxResources;
  /** A path below the cgroup mount, or `slice:prefix:name` for the systemd driver. */
  cgroupsPath?: string;
  namespaces?: LinuxNamespace[];
  devices?: LinuxDevice[];
  /** Network interfaces of the node by name, moved into the container (specification 1.3). */
  netDevices?: Record<string, { name?: string }>;
  seccomp?: LinuxSeccomp;
  rootfsPropagation?: 'shared' | 'slave' | 'private' | 'unbindable' | 'rshared' | 'rslave' | 'rprivate' | 'runbindable';
  maskedPaths?: string[];
  readonlyPaths?: string[];
  mountLabel?: string;
  intelRdt?: LinuxIntelRdt;
  personality?: { domain: 'LINUX' | 'LINUX32'; flags?: string[] };
  timeOffsets?: Record<string, { secs?: WideInteger; nanosecs?: number }>;
}

export type LinuxNamespaceType = 'pid' | 'network' | 'mount' | 'ipc' | 'uts' | 'user' | 'cgroup' | 'time';

export interface LinuxNamespace {
  type: LinuxNamespaceType;
  /** An existing namespace to join; a new one without. */
  path?: string;
}

export interface LinuxIdMapping {
  containerID: number;
  hostID: number;
  size: number;
}

export interface LinuxDevice {
  path: string;
  /** Block, character (`c` or `u`) or FIFO, as mknod(1) calls them. */
  type: 'b' | 'c' | 'u' | 'p';
  major: number;
  minor: number;
  /** Permission bits, for example 0o666. */
  fileMode?: number;
  uid?: number;
  gid?: number;
}

export interface LinuxResources {
  devices?: LinuxDeviceCgroup[];
  memory?: LinuxMemory;
  cpu?: LinuxCpu;
  pids?: { limit: WideInteger };
  blockIO?: LinuxBlockIo;
  hugepageLimits?: { pageSize: string; limit: WideInteger }[];
  network?: { classID?: number; priorities?: { name: string; priority: number }[] };
  rdma?: Record<string, { hcaHandles?: number; hcaObjects?: number }>;
  /** cgroup v2 files by name, written as they are. */
  unified?: Record<string, string>;
}

export interface LinuxDeviceCgroup {
  allow: boolean;
  /** `a` is all. */
  type?: 'a' | 'b' | 'c';
  major?: number;
  minor?: number;
  /** Any of `r`, `w`, `m`. */
  access?: string;
}

/** Bytes; -1 is unlimited. */
export interface LinuxMemory {
  limit?: WideInteger;
  reservation?: WideInteger;
  /** Memory and swap together. */
  swap?: WideInteger;
  kernel?: WideInteger;
  kernelTCP?: WideInteger;
  /** 0 to 100. */
  swappiness?: number;
  disableOOMKiller?: boolean;
  useHierarchy?: boolean;
  checkBeforeUpdate?: boolean;
}

export interface LinuxCpu {
  shares?: WideInteger;
  /** Microseconds in each period; negative is unlimited. */
  quota?: WideInteger;
  burst?: WideInteger;
  /** Microseconds. */
  period?: WideInteger;
  realtimeRuntime?: WideInteger;
  realtimePeriod?: WideInteger;
  /** A list of CPUs, for example `0-3,7`. */
  cpus?: string;
  mems?: string;
  idle?: WideInteger;
}

export interface LinuxBlockIo {
  weight?: number;
  leafWeight?: number;
  weightDevice?: { major: number; minor: number; weight?: number; leafWeight?: number }[];
  throttleReadBpsDevice?: LinuxThrottleDevice[];
  throttleWriteBpsDevice?: LinuxThrottleDevice[];
  throttleReadIOPSDevice?: LinuxThrottleDevice[];
  throttleWriteIOPSDevice?: LinuxThrottleDevice[];
}

export interface LinuxThrottleDevice {
  major: number;
  minor: number;
  rate: WideInteger;
}

export type SeccompAction =
  | 'SCMP_ACT_KILL'
  | 'SCMP_ACT_KILL_PROCESS'
  | 'SCMP_ACT_KILL_THREAD'
  | 'SCMP_ACT_TRAP'
  | 'SCMP_ACT_ERRNO'
  | 'SCMP_ACT_TRACE'
  | 'SCMP_ACT_ALLOW'
  | 'SCMP_ACT_LOG'
  | 'SCMP_ACT_NOTIFY';

export interface LinuxSeccomp {
  defaultAction: SeccompAction;
  defaultErrnoRet?: number;
  /** For example `SCMP_ARCH_X86_64`. */
  architectures?: string[];
  flags?: string[];
  listenerPath?: string;
  listenerMetadata?: string;
  syscalls?: LinuxSyscall[];
}

export interface LinuxSyscall {
  names: string[];
  action: SeccompAction;
  errnoRet?: number;
  args?: LinuxSeccompArg[];
}

export interface LinuxSeccompArg {
  /** Which argument, from 0. */
  index: number;
  value: WideInteger;
  valueTwo?: WideInteger;
  op:
    | 'SCMP_CMP_NE'
    | 'SCMP_CMP_LT'
    | 'SCMP_CMP_LE'
    | 'SCMP_CMP_EQ'
    | 'SCMP_CMP_GE'
    | 'SCMP_CMP_GT'
    | 'SCMP_CMP_MASKED_EQ';
}

export interface LinuxIntelRdt {
  closID?: string;
  l3CacheSchema?: string;
  memBwSchema?: string;
  /** Lines of the class' `schemata` file (specification 1.3, as `enableMonitoring`). */
  schemata?: string[];
  enableMonitoring?: boolean;
  enableCMT?: boolean;
  enableMBM?: boolean;
}
