import type { ConfigOverride } from '@criquet/shim-server';

/** The flags of `serve` and `config`; each stands for one key of the configuration file. */
export interface ConfigFlags {
  readonly config?: string;
  readonly listen?: string;
  readonly containerd?: string;
  readonly stateDir?: string;
  readonly rootDir?: string;
  readonly cniConfDir?: string;
  readonly cniBinDir?: string[];
  readonly hostsDir?: string;
  readonly logLevel?: string;
}

type OverrideFlag = Exclude<keyof ConfigFlags, 'config'>;

/** Flag of the command line, placeholder, key of the file, help. */
export const OVERRIDES: Readonly<Record<OverrideFlag, { flag: string; value: string; key: string; help: string }>> = {
  listen: { flag: '--listen', value: 'unix:///PATH', key: 'listen', help: 'socket on which CRI is served' },
  containerd: { flag: '--containerd', value: 'SOCKET', key: 'containerd.address', help: "containerd's socket" },
  stateDir: { flag: '--state-dir', value: 'DIR', key: 'state_dir', help: 'volatile state: network namespace pins, FIFOs' },
  rootDir: { flag: '--root-dir', value: 'DIR', key: 'root_dir', help: 'persistent state: files of pods' },
  cniConfDir: { flag: '--cni-conf-dir', value: 'DIR', key: 'cni.conf_dir', help: 'network configurations' },
  cniBinDir: { flag: '--cni-bin-dir', value: 'DIR', key: 'cni.bin_dirs', help: 'CNI plugins; may be given several times' },
  hostsDir: { flag: '--hosts-dir', value: 'DIR', key: 'image.hosts_dir', help: 'registry host configurations (hosts.toml)' },
  logLevel: { flag: '--log-level', value: 'LEVEL', key: 'log_level', help: 'silent, fatal, error, warn, info, debug or trace' },
};

/** What the flags that were given set over the configuration file. */
export function configOverrides(flags: ConfigFlags): ConfigOverride[] {
  return (Object.keys(OVERRIDES) as OverrideFlag[]).flatMap((name) => {
    const value = flags[name];
    const { flag, key } = OVERRIDES[name];
    return value === undefined ? [] : [{ flag, key, value }];
  });
}
