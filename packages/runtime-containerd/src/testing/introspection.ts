import type { IntrospectionService, Plugin } from '../gen/services/introspection/v1/introspection.js';
import { notFound } from './fake-status.js';
import { mapField, parseFilters, type Fields } from './filters.js';
import type { Handlers } from './serve.js';

/** What the fake tells about its plugins. */
export interface FakePlugin {
  readonly type: string;
  readonly id: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly capabilities?: readonly string[];
  /** Why it did not start. */
  readonly error?: string;
}

const grpcServices = ['containers', 'content', 'diff', 'events', 'images', 'introspection', 'leases', 'namespaces', 'snapshots', 'streaming', 'tasks', 'transfer', 'version'];

/** What containerd 2.1 has, as far as clients of it ask; its CRI plugin disabled. */
export function defaultPlugins(root: string): FakePlugin[] {
  return [
    ...grpcServices.map((id) => ({ type: 'io.containerd.grpc.v1', id })),
    { type: 'io.containerd.content.v1', id: 'content', exports: { root: `${root}/io.containerd.content.v1.content` } },
    { type: 'io.containerd.runtime.v2', id: 'task' },
    { type: 'io.containerd.transfer.v1', id: 'local' },
    ...['overlayfs', 'native'].map((id) => ({
      type: 'io.containerd.snapshotter.v1',
      id,
      exports: { root: `${root}/io.containerd.snapshotter.v1.${id}` },
      capabilities: id === 'overlayfs' ? ['remap-ids', 'only-remap-ids'] : [],
    })),
  ];
}

export function introspectionHandlers(plugins: () => readonly FakePlugin[]): Handlers<typeof IntrospectionService> {
  return {
    plugins({ filters }) {
      const matches = parseFilters(filters);
      return { plugins: plugins().map(wirePlugin).filter((plugin) => matches(pluginFields(plugin))) };
    },
    server: () => ({ uuid: '00000000-0000-4000-8000-000000000000', pid: BigInt(process.pid), pidns: 4026531836n, deprecations: [] }),
    pluginInfo({ type, id }) {
      const plugin = plugins().find((known) => known.type === type && known.id === id);
      if (plugin === undefined) throw notFound(`plugin ${type}.${id}`);
      return { plugin: wirePlugin(plugin), extra: undefined };
    },
  };
}

function wirePlugin({ type, id, exports = {}, capabilities = [], error }: FakePlugin): Plugin {
  const initErr = error === undefined ? undefined : { code: 2, message: error, details: [] };
  const platforms = [{ os: 'linux', architecture: 'amd64', variant: '', osVersion: '', osFeatures: [] }];
  return { type, id, requires: [], platforms, exports, capabilities: [...capabilities], initErr };
}

function pluginFields({ type, id, exports }: Plugin): Fields {
  return ([field, ...rest]) => (field === 'type' ? type : field === 'id' ? id : field === 'exports' ? mapField(rest, exports) : undefined);
}
