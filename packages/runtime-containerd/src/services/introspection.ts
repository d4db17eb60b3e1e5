import type { Any } from '../any.js';
import type { CallOptions } from '../call-options.js';
import { IntrospectionService, Plugin } from '../gen/services/introspection/v1/introspection.js';
import { fromWireAny, toWireAny } from '../grpc/any.js';
import type { Channel } from '../grpc/channel.js';
import { toNanos } from '../grpc/timestamp.js';

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

export function introspectionService(channel: Channel): Introspection {
  return {
    async plugins(filters = [], options) {
      const { plugins } = await channel.unary(IntrospectionService.plugins, { filters: [...filters] }, options);
      return plugins.map(pluginRecord);
    },
    async server(options) {
      const { uuid, pid, pidns, deprecations } = await channel.unary(IntrospectionService.server, {}, options);
      return {
        uuid,
        pid: Number(pid),
        pidNamespace: pidns,
        deprecations: deprecations.map(({ id, message, lastOccurrence }) => ({
          id,
          message,
          lastOccurrence: toNanos(lastOccurrence),
        })),
      };
    },
    async pluginInfo(type, id, request, options) {
      const wireOptions = request === undefined ? undefined : toWireAny(request);
      const { plugin, extra } = await channel.unary(
        IntrospectionService.pluginInfo,
        { type, id, options: wireOptions },
        options,
      );
      return { plugin: pluginRecord(plugin ?? Plugin.fromPartial({ type, id })), ...(extra === undefined ? {} : { extra: fromWireAny(extra) }) };
    },
  };
}

function pluginRecord(plugin: Plugin): PluginRecord {
  const { type, id, requires, exports, capabilities, initErr } = plugin;
  const platforms = plugin.platforms.map(({ os, architecture, variant, osVersion, osFeatures }) => ({
    os,
    architecture,
    variant,
    osVersion,
    osFeatures,
  }));
  const failed = initErr !== undefined && (initErr.code !== 0 || initErr.message !== '');
  return {
    type,
    id,
    requires,
    platforms,
    exports,
    capabilities,
    ...(failed ? { initError: { code: initErr.code, message: initErr.message } } : {}),
  };
}
