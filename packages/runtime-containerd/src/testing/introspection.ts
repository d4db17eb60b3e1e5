import { status } from '@grpc/grpc-js';
import type { Any } from '../gen/google/protobuf/any.js';
import type { IntrospectionService, Plugin } from '../gen/services/introspection/v1/introspection.js';
import { Options } from '../gen/types/runc/options/oci.js';
import { RuntimeInfo, RuntimeRequest } from '../gen/types/introspection.js';
import type { RuntimeFeatures } from '../oci/runtime-features.js';
import { runcOptionsTypeUrl } from '../runc-options.js';
import { FakeStatus, notFound } from './fake-status.js';
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

const grpcServices = ['containers', 'content', 'diff', 'events', 'images', 'introspection', 'leases', 'namespaces', 'sandboxes', 'snapshots', 'streaming', 'tasks', 'transfer', 'version'];

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

/** What `runc features` of runc 1.2 and later tells, as far as anybody asks. */
export function defaultRuntimeFeatures(): RuntimeFeatures {
  return {
    ociVersionMin: '1.0.0',
    ociVersionMax: '1.2.0',
    mountOptions: ['bind', 'noexec', 'nodev', 'nosuid', 'rbind', 'ro', 'rro'],
    linux: { namespaces: ['cgroup', 'ipc', 'mount', 'network', 'pid', 'user', 'uts'], mountExtensions: { idmap: { enabled: true } } },
    annotations: { 'org.opencontainers.runc.version': '1.2.0', 'org.opencontainers.runc.checkpoint.enabled': 'true' },
  };
}

/** OCI runtimes by the name or path that the options of the runc shim say; `undefined`: one without the `features` command. */
export type FakeOciRuntimes = ReadonlyMap<string, RuntimeFeatures | undefined>;

export function introspectionHandlers(plugins: () => readonly FakePlugin[], runtimes: FakeOciRuntimes, uuid: () => string): Handlers<typeof IntrospectionService> {
  return {
    plugins({ filters }) {
      const matches = parseFilters(filters);
      return { plugins: plugins().map(wirePlugin).filter((plugin) => matches(pluginFields(plugin))) };
    },
    server: () => ({ uuid: uuid(), pid: BigInt(process.pid), pidns: 4026531836n, deprecations: [] }),
    pluginInfo({ type, id, options }) {
      const plugin = plugins().find((known) => known.type === type && known.id === id);
      if (plugin === undefined) throw notFound(`plugin ${type}.${id}`);
      const asksForRuntime = options?.typeUrl === 'containerd.types.RuntimeRequest';
      return { plugin: wirePlugin(plugin), extra: asksForRuntime ? runtimeInfo(RuntimeRequest.decode(options.value), runtimes) : undefined };
    },
  };
}

/** As the shim answers to `-info`; a shim that is not runc's tells no features. */
function runtimeInfo({ runtimePath, options }: RuntimeRequest, runtimes: FakeOciRuntimes): Any {
  const forRunc = options?.typeUrl === runcOptionsTypeUrl;
  const binary = forRunc ? Options.decode(options.value).binaryName || 'runc' : undefined;
  if (binary !== undefined && !runtimes.has(binary)) throw new FakeStatus(status.UNKNOWN, `failed to look up the path of "${binary}"`);
  const features = binary === undefined ? undefined : runtimes.get(binary);
  const info: RuntimeInfo = {
    name: runtimePath,
    version: { version: 'fake', revision: '' },
    options: undefined,
    features:
      features === undefined
        ? undefined
        : { typeUrl: 'types.containerd.io/opencontainers/runtime-spec/1/features/Features', value: Buffer.from(JSON.stringify(features)) },
    annotations: {},
  };
  return { typeUrl: 'containerd.types.RuntimeInfo', value: Buffer.from(RuntimeInfo.encode(info).finish()) };
}

function wirePlugin({ type, id, exports = {}, capabilities = [], error }: FakePlugin): Plugin {
  const initErr = error === undefined ? undefined : { code: 2, message: error, details: [] };
  const platforms = [{ os: 'linux', architecture: 'amd64', variant: '', osVersion: '', osFeatures: [] }];
  return { type, id, requires: [], platforms, exports, capabilities: [...capabilities], initErr };
}

function pluginFields({ type, id, exports }: Plugin): Fields {
  return ([field, ...rest]) => (field === 'type' ? type : field === 'id' ? id : field === 'exports' ? mapField(rest, exports) : undefined);
}
