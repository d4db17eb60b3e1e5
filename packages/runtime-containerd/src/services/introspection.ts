import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';

/** The introspection service (containerd.services.introspection.v1). */
export interface Introspection {
  /** Filters such as `type==io.containerd.snapshotter.v1,id==overlayfs`; several are alternatives. */
  plugins(filters?: readonly string[], options?: CallOptions): Promise<PluginRecord[]>;
  server(options?: CallOptions): Promise<ServerRecord>;
  /** One plugin and what it tells about itself. `request` is the plugin's own (a runtime's: `containerd.runc.v1`-like options). */
  pluginInfo(type: string, id: string, request?: Any, options?: CallOptions): Promise<PluginInfo>;
}

export interface PluginRecord {
  /** For example `io.containerd.snapshotter.v1`. */
  readonly type: string;
  readonly id: string;
  readonly requires: readonly string[];
  readonly platforms: readonly Platform[];
  /** Facts the plugin publishes, for example a snapshotter's `root`. */
  readonly exports: Readonly<Record<string, string>>;
  readonly capabilities: readonly string[];
  /** Why it did not load, when it did not; code 0 with an empty message never occurs here. */
  readonly initError?: { readonly code: number; readonly message: string };
}

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string;
  readonly osVersion?: string;
  readonly osFeatures?: readonly string[];
}

export interface ServerRecord {
  readonly uuid: string;
  readonly pid: number;
  /** Inode of containerd's pid namespace. */
  readonly pidNamespace: bigint;
  readonly deprecations: readonly { readonly id: string; readonly message: string; readonly lastOccurrence: bigint }[];
}

export interface PluginInfo {
  readonly plugin: PluginRecord;
  readonly extra?: Any;
}
