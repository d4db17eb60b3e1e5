import { ContainerConfig, PodSandboxConfig, type DeepPartial } from '@criquet/cri-api';
import { CAPABILITY_NAMES } from '../../src/spec/capability-names.js';
import type { ContainerSpecInput, NodeFacts, SandboxSpecInput } from '../../src/spec/index.js';

export const ID = 'a'.repeat(64);
export const SANDBOX_ID = 'b'.repeat(64);

/** A node that has everything; tests take away. */
export function node(change: Partial<NodeFacts> = {}): NodeFacts {
  return {
    hostname: 'node-1',
    cgroup: 'v1',
    cgroupDriver: 'cgroupfs',
    cgroupMountOptions: ['rw', 'nsdelegate'],
    controllers: ['cpu', 'cpuset', 'memory', 'hugetlb'],
    hugepageSizes: ['1GB', '2MB'],
    swapAccounting: true,
    seccompEnabled: true,
    apparmorEnabled: false,
    selinuxEnabled: false,
    capabilities: [...CAPABILITY_NAMES],
    oomScoreAdjMin: -1000,
    networkSysctls: { unprivilegedPortStart: true, pingGroupRange: true },
    mountSetattr: true,
    userNamespaces: true,
    arch: 'x64',
    ...change,
  };
}

export function sandboxConfig(change: DeepPartial<PodSandboxConfig> = {}): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', attempt: 0 },
    hostname: 'web-0',
    logDirectory: '/var/log/pods/default_web_uid-1',
    ...change,
  });
}

export function containerConfig(change: DeepPartial<ContainerConfig> = {}): ContainerConfig {
  return ContainerConfig.fromPartial({
    metadata: { name: 'server', attempt: 0 },
    image: { image: 'busybox' },
    command: ['sh'],
    ...change,
  });
}

export function sandboxInput(change: Partial<SandboxSpecInput> = {}): SandboxSpecInput {
  return {
    id: SANDBOX_ID,
    config: sandboxConfig(),
    netnsPath: '/run/netns/pod',
    node: node(),
    files: { shm: '/run/criquet/shm' },
    ...change,
  };
}

export function containerInput(change: Partial<ContainerSpecInput> = {}): ContainerSpecInput {
  return {
    id: ID,
    sandboxId: SANDBOX_ID,
    sandboxPid: 42,
    sandboxConfig: sandboxConfig(),
    podNetnsPath: '/run/netns/pod',
    config: containerConfig(),
    imageConfig: {},
    imageName: 'docker.io/library/busybox:latest',
    user: { uid: 0, gid: 0, additionalGids: [0] },
    node: node(),
    files: { hosts: '/pod/hosts', hostname: '/pod/hostname', resolvConf: '/pod/resolv.conf', shm: '/pod/shm' },
    mounts: { binds: [], createdSources: [] },
    devices: { devices: [], rules: [{ allow: false, access: 'rwm' }] },
    seccomp: undefined,
    apparmorProfile: undefined,
    ...change,
  };
}

/** The error that `act` throws. */
export async function errorOf(act: () => unknown): Promise<Error & { code?: unknown }> {
  try {
    await act();
  } catch (error) {
    return error as Error & { code?: unknown };
  }
  throw new Error('nothing was thrown');
}
