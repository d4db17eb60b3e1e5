import type { ConfigState } from '@criquet/network-cni';
import type { CriquetConfig } from '../config/index.js';

/** The node's network configuration in the form in which containerd's plugin shows it under `cniconfig`. */
export function shownNetworkConfig({ binDirs, confDir, maxConfNum }: CriquetConfig['cni'], { lists = [] }: ConfigState): object {
  return {
    PluginDirs: binDirs,
    PluginConfDir: confDir,
    PluginMaxConfNum: maxConfNum,
    Prefix: 'eth',
    Networks: lists.map(({ name, file, cniVersion, plugins, bytes }, index) => ({
      Config: {
        Name: name,
        CNIVersion: cniVersion,
        Plugins: plugins.map((plugin) => ({ Network: plugin.raw, Source: JSON.stringify(plugin.raw) })),
        Source: bytes,
        File: file,
      },
      IFName: `eth${index}`,
    })),
  };
}
