import type { CgroupDriver } from './cgroup-driver.js';

/** Private places of one containerd. */
export interface ContainerdPaths {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
}

/** What containerd's own CRI plugin needs, where it serves as the yardstick. */
export interface CriPluginOptions {
  readonly hostsDir: string;
  readonly cniConfDir: string;
  readonly cniBinDirs: readonly string[];
  readonly sandboxImage: string;
  readonly cgroupDriver: CgroupDriver;
  /** Names of runtime handlers beside `runc`, which are made like it. */
  readonly handlers: readonly string[];
}

const CRI_PLUGINS = ['io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.grpc.v1.cri'];

/** Plugins that would use places outside the private ones (/opt/containerd, /var/run/nri). */
const SHARED_PLACES = ['io.containerd.internal.v1.opt', 'io.containerd.nri.v1.nri'];

/** A containerd configuration with private places only; its CRI plugin is off unless `cri` is given. */
export function containerdConfig(paths: ContainerdPaths, cri?: CriPluginOptions): string {
  const disabled = [...SHARED_PLACES, ...(cri === undefined ? CRI_PLUGINS : [])];
  return `version = 3
root = ${toml(paths.root)}
state = ${toml(paths.state)}
disabled_plugins = ${toml(disabled)}

[grpc]
  address = ${toml(paths.socket)}
[ttrpc]
  address = ${toml(`${paths.socket}.ttrpc`)}
[debug]
  level = "info"
${cri === undefined ? '' : criPluginConfig(cri)}`;
}

function criPluginConfig(cri: CriPluginOptions): string {
  return `
[plugins.'io.containerd.cri.v1.images']
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = ${toml(cri.sandboxImage)}
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = ${toml(cri.hostsDir)}

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
${['runc', ...cri.handlers].map((name) => handler(name, cri.cgroupDriver)).join('')}  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ${toml(cri.cniBinDirs)}
    conf_dir = ${toml(cri.cniConfDir)}

[plugins.'io.containerd.grpc.v1.cri']
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
`;
}

function handler(name: string, driver: CgroupDriver): string {
  return `  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.${name}]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.${name}.options]
      SystemdCgroup = ${driver === 'systemd'}
`;
}

/** A string or a list of strings as TOML writes them: JSON's form is a part of it. */
function toml(value: string | readonly string[]): string {
  return JSON.stringify(value);
}
