import { dirname } from 'node:path';
import type { Containerd } from '../containerd.js';
import type { CallOptions } from '../call-options.js';
import type { PluginRecord, ServerRecord } from '../services/introspection.js';
import { parseContainerdVersion, versionProblem, type ContainerdVersion } from './containerd-version.js';

export interface SnapshotterReport {
  readonly name: string;
  /** Its directory on containerd's machine, when it tells. */
  readonly root?: string;
  /** For example `remap-ids`. */
  readonly capabilities: readonly string[];
}

/** What was found out about a containerd that can serve. */
export interface ContainerdReport {
  /** As containerd says it. */
  readonly version: string;
  /** Missing for a build without a version. */
  readonly parsedVersion?: ContainerdVersion;
  readonly server: ServerRecord;
  readonly snapshotter: SnapshotterReport;
  /** By name: `snapshotter`, and the others that were asked for. */
  readonly snapshotters: ReadonlyMap<string, SnapshotterReport>;
  /** containerd's `root` directory, when a plugin tells. */
  readonly rootDir?: string;
  /** containerd's own CRI plugin, which would adopt what lives in its namespace (`k8s.io`). */
  readonly criPlugin: 'absent' | 'failed' | 'loaded';
  /** All plugins, for what else a caller wants to know. */
  readonly plugins: readonly PluginRecord[];
}

/** containerd cannot serve: `problems` says what is missing, each on its own. */
export class ContainerdUnusable extends Error {
  override readonly name = 'ContainerdUnusable';

  constructor(
    readonly version: string,
    readonly problems: readonly string[],
  ) {
    super(`containerd ${version}: ${problems.join('; ')}`);
  }
}

const SNAPSHOTTER = 'io.containerd.snapshotter.v1';

/** The plugins behind this package's services. */
const needed: readonly (readonly [type: string, id: string])[] = [
  ...['containers', 'content', 'diff', 'events', 'images', 'leases', 'namespaces', 'sandboxes', 'snapshots', 'streaming', 'tasks', 'transfer'].map(
    (id) => ['io.containerd.grpc.v1', id] as const,
  ),
  ['io.containerd.runtime.v2', 'task'],
  ['io.containerd.transfer.v1', 'local'],
];

/**
 * Asks containerd for its version and plugins and tells whether it can serve. Whether its Transfer plugin is configured to
 * unpack for the snapshotter cannot be asked: a pull tells, with INVALID_ARGUMENT.
 *
 * @throws ContainerdUnusable, or ContainerdError when it does not answer
 */
export async function checkContainerd(
  client: Pick<Containerd, 'version' | 'introspection'>,
  wanted: { readonly snapshotter: string; readonly furtherSnapshotters?: readonly string[] },
  options?: CallOptions,
): Promise<ContainerdReport> {
  const asked = Promise.all([client.introspection.plugins([], options), client.introspection.server(options)]);
  // A version that is too old says more than what it does not serve.
  asked.catch(() => undefined);
  const { version } = await client.version.get(options);
  const parsedVersion = parseContainerdVersion(version);
  const tooOld = parsedVersion === undefined ? undefined : versionProblem(parsedVersion);
  if (tooOld !== undefined) throw new ContainerdUnusable(version, [tooOld]);

  const [plugins, server] = await asked;
  const find = (type: string, id: string) => plugins.find((plugin) => plugin.type === type && plugin.id === id);
  const problems = needed.flatMap(([type, id]) => problem(`plugin ${type}.${id}`, find(type, id)));
  const snapshotters = new Map<string, SnapshotterReport>();
  for (const name of [wanted.snapshotter, ...(wanted.furtherSnapshotters ?? [])]) {
    const plugin = find(SNAPSHOTTER, name);
    problems.push(...problem(`snapshotter ${name}`, plugin));
    if (plugin === undefined) continue;
    const { root } = plugin.exports;
    snapshotters.set(name, { name, ...(root ? { root } : {}), capabilities: plugin.capabilities });
  }
  const snapshotter = snapshotters.get(wanted.snapshotter);
  if (problems.length > 0 || snapshotter === undefined) throw new ContainerdUnusable(version, problems);

  const rootDir = containerdRoot(plugins);
  return {
    version,
    ...(parsedVersion === undefined ? {} : { parsedVersion }),
    server,
    snapshotter,
    snapshotters,
    ...(rootDir === undefined ? {} : { rootDir }),
    criPlugin: pluginState(find('io.containerd.grpc.v1', 'cri')),
    plugins,
  };
}

function problem(what: string, plugin: PluginRecord | undefined): string[] {
  if (plugin === undefined) return [`${what} is not loaded: disabled in its configuration, or not built in`];
  if (plugin.initError !== undefined) return [`${what} did not start: ${plugin.initError.message}`];
  return [];
}

function pluginState(plugin: PluginRecord | undefined): ContainerdReport['criPlugin'] {
  if (plugin === undefined) return 'absent';
  return plugin.initError === undefined ? 'loaded' : 'failed';
}

/** A plugin keeps its files in `<root>/<type>.<id>`. */
function containerdRoot(plugins: readonly PluginRecord[]): string | undefined {
  for (const { type, id, exports } of plugins) {
    const own = exports.root;
    if (own?.endsWith(`/${type}.${id}`)) return dirname(own);
  }
  return undefined;
}
