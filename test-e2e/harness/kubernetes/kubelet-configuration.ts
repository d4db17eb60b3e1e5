import { posix } from 'node:path';

/** Fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) by their names in it. */
export type KubeletFields = Readonly<Record<string, unknown>>;

export interface KubeletConfigurationOptions {
  /** The CRI endpoint, `unix:///…`. */
  readonly endpoint: string;
  /** The node's own cgroup, at the root of every hierarchy; empty: that root. */
  readonly cgroupRoot: string;
  /** Where its own address is. */
  readonly address: string;
  readonly staticPodPath: string;
  /** Fields that replace those below. */
  readonly fields: KubeletFields;
}

/**
 * A KubeletConfiguration for a node that shares its machine with others: no limit of the machine's is a reason to evict, and what needs
 * more rights than a test has is off. JSON, which is a part of YAML.
 */
export function kubeletConfiguration({ endpoint, cgroupRoot, address, staticPodPath, fields }: KubeletConfigurationOptions): string {
  return JSON.stringify(
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address,
      port: 10250,
      healthzBindAddress: '127.0.0.1',
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      containerRuntimeEndpoint: endpoint,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: posix.join('/', cgroupRoot),
      failCgroupV1: false,
      failSwapOn: false,
      oomScoreAdj: 0,
      staticPodPath,
      fileCheckFrequency: '1s',
      syncFrequency: '10s',
      volumePluginDir: '/var/lib/kubelet/volume-plugins',
      resolvConf: '/etc/resolv.conf',
      evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0.1%', 'imagefs.available': '0.1%', 'nodefs.inodesFree': '0.1%', 'imagefs.inodesFree': '0.1%' },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      shutdownGracePeriod: '0s',
      ...fields,
    },
    null,
    2,
  );
}
