import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { here, type Place } from './place.js';
import { tryRun } from './run.js';

/**
 * What a node's pods leave on a machine, found without asking the runtime under test: from /proc, the cgroup file systems,
 * `ip`, `iptables-save`, the IPAM directory and `ctr`. Each kind is a sorted list of names that do not change by themselves.
 */
export type NodeState = Readonly<Record<Kind, readonly string[]>>;

export const KINDS = [
  'processes',
  'mounts',
  'netns pins',
  'links',
  'cgroups',
  'iptables',
  'nftables',
  'addresses',
  'files',
  'containers',
  'sandboxes',
  'tasks',
  'snapshots',
  'leases',
  'ingests',
  'shim sockets',
  'descriptors',
] as const;

export type Kind = (typeof KINDS)[number];

export interface NodeStateScope {
  /** Where the node's daemons run. Default: the namespaces of this process. */
  readonly place?: Place;
  /** Every process, mount and file that names this directory belongs to the node. */
  readonly directory: string;
  /** Directories whose files are compared, for example the runtime's state directory. Logs do not belong here. */
  readonly fileDirectories: readonly string[];
  /** Rules and links that name one of these belong to the node: bridge, CNI network, subnet prefix. */
  readonly networkNames: readonly string[];
  /** Directory of host-local's reservations. */
  readonly reservations: string;
  /** Cgroups below a directory of this name belong to the node; that directory itself is the caller's, not the runtime's. */
  readonly cgroupParent: string;
  /** Pids of the node's own daemons, which are not compared: a test may start them again. */
  readonly daemons: readonly number[];
  /** Pid of the runtime under test, whose open files are compared. */
  readonly runtimePid?: number;
  /** The snapshotters that are used. Default: overlayfs. */
  readonly snapshotters?: readonly string[];
  /** `ctr` of the node's containerd; undefined while containerd is down. */
  readonly ctr?: (...args: string[]) => Promise<string>;
}

/** Takes a snapshot. */
export async function readNodeState(scope: NodeStateScope): Promise<NodeState> {
  const place = scope.place ?? here;
  const [processes, mounts, netns, links, cgroups, iptables, nftables, addresses, files, containerd, sockets, descriptors] = await Promise.all([
    readProcesses(place, scope.directory, scope.daemons),
    readMounts(place, (line) => line.includes(scope.directory)),
    readMounts(place, (line) => line.includes(' - nsfs ') && line.includes(scope.directory)),
    readLinks(place, scope.networkNames),
    readCgroups(scope.cgroupParent),
    readIptables(place, scope.networkNames),
    readNftables(place, scope.networkNames),
    readAddresses(scope.reservations),
    readFiles(scope.fileDirectories),
    readContainerd(scope.ctr, scope.snapshotters ?? ['overlayfs']),
    readShimSockets(place, scope.directory),
    readDescriptors(scope.runtimePid, scope.directory),
  ]);
  return {
    processes,
    mounts,
    'netns pins': netns,
    links,
    cgroups,
    iptables,
    nftables,
    addresses,
    files,
    ...containerd,
    'shim sockets': sockets,
    descriptors,
  };
}

/** What differs between two snapshots, one line each, for example `mounts: + /x/rootfs`. Empty when nothing does. */
export function compareNodeStates(before: NodeState, after: NodeState): string[] {
  const differences: string[] = [];
  for (const kind of KINDS) {
    const [was, is] = [before[kind], after[kind]].map((entries) => new Map(entries.map((entry) => [identity(kind, entry), entry])));
    for (const [key, entry] of is ?? []) if (was?.has(key) !== true) differences.push(`${kind}: + ${entry}`);
    // What the runtime reads or locks for a moment may be open at one look and not at the other.
    if (kind === 'descriptors') continue;
    for (const [key, entry] of was ?? []) if (is?.has(key) !== true) differences.push(`${kind}: - ${entry}`);
  }
  return differences;
}

/** A process is its pid: its command line changes from `runc init` to the container's own. */
function identity(kind: Kind, entry: string): string {
  return kind === 'processes' ? entry.slice(0, entry.indexOf(' ')) : entry;
}

/**
 * Processes that name the directory in their command line, or whose root directory is made of what lies in it, as a container's is. That
 * another mount namespace shows it somewhere says nothing: mounts also spread into those of the machine's own services.
 */
export async function readProcesses(place: Place, directory: string, daemons: readonly number[]): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && ![process.pid, place.pid, ...daemons].includes(Number(name)))) {
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').trim();
    const mounts = (await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')).split('\n');
    const root = mounts.find((line) => line.split(' ')[4] === '/') ?? '';
    // By the last part: the path within a file system of its own has no more.
    if (command.includes(directory) || root.includes(`/${basename(directory)}/`)) found.push(`${pid} ${command}`);
  }
  // `ctr` and other short commands of the harness itself come and go.
  return found.filter((line) => !/^\d+ \S*\/ctr /.test(line)).sort();
}

export async function readMounts(place: Place, belongs: (line: string) => boolean): Promise<string[]> {
  const lines = (await readFile(`/proc/${place.pid}/mountinfo`, 'utf8')).split('\n').filter(belongs);
  return lines.map((line) => line.split(' ')[4] ?? line).sort();
}

/** Links of pods on the node's bridge. The bridge itself stays: its plugin makes it once and never removes it. */
async function readLinks(place: Place, names: readonly string[]): Promise<string[]> {
  const { stdout } = await tryRun(...place.command('ip', ['-json', 'link', 'show']));
  const links = JSON.parse(stdout === '' ? '[]' : stdout) as { ifname: string; master?: string }[];
  return links.filter((link) => names.includes(link.master ?? '')).map((link) => link.ifname).sort();
}

/** Cgroups of all pods and of a class of them; a kubelet keeps them while it runs. */
const OF_THE_KUBELET = /\/kubepods(\/(besteffort|burstable))?$/;

async function readCgroups(parent: string): Promise<string[]> {
  const found: string[] = [];
  const descend = async (directory: string, inside: boolean): Promise<void> => {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      if (!entry.isDirectory()) continue;
      const path = join(directory, entry.name);
      if (inside && !OF_THE_KUBELET.test(path)) found.push(path);
      await descend(path, inside || entry.name === parent || entry.name === `${parent}.slice`);
    }
  };
  await descend('/sys/fs/cgroup', false);
  return found.sort();
}

async function readIptables(place: Place, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const command of ['iptables-save', 'ip6tables-save']) {
    const { stdout } = await tryRun(...place.command(command, []));
    const rules = stdout.split('\n').filter((line) => line.startsWith('-A '));
    const tagged = rules.filter((rule) => names.some((name) => rule.includes(name)));
    // Chains that tagged rules jump to belong to them, with every rule inside.
    const chains = new Set(tagged.flatMap((rule) => /-j (CNI-[0-9a-fA-F]+|CNI-DN-\S+|CNI-SN-\S+)/.exec(rule)?.[1] ?? []));
    const inside = rules.filter((rule) => [...chains].some((chain) => rule.startsWith(`-A ${chain} `)));
    found.push(...new Set([...tagged, ...inside].map((rule) => `${command}: ${rule}`)));
  }
  return found.sort();
}

async function readNftables(place: Place, names: readonly string[]): Promise<string[]> {
  const { stdout } = await tryRun(...place.command('nft', ['list', 'ruleset']));
  const lines = stdout.split('\n').map((line) => line.trim().replace(/counter packets \d+ bytes \d+ /, ''));
  return lines.filter((line) => names.some((name) => line.includes(name))).sort();
}

async function readAddresses(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((): string[] => []);
  return names.filter((name) => name !== 'lock' && !name.startsWith('last_reserved_ip')).sort();
}

/** What a daemon makes beside its start, once, and keeps. */
const MADE_ONCE = /\/(containerd-uuid|cleaning\.lock)$/;

/** Everything below the directories but their own first level, which a runtime lays out once. */
async function readFiles(directories: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const descend = async (directory: string, top: boolean): Promise<void> => {
    for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
      const path = join(directory, entry.name);
      if (!top || !entry.isDirectory()) found.push(path);
      if (entry.isDirectory()) await descend(path, false);
    }
  };
  for (const directory of directories) await descend(directory, true);
  return found.filter((path) => !MADE_ONCE.test(path)).sort();
}

type ContainerdKind = 'containers' | 'sandboxes' | 'tasks' | 'snapshots' | 'leases' | 'ingests';

async function readContainerd(ctr: NodeStateScope['ctr'], snapshotters: readonly string[]): Promise<Record<ContainerdKind, string[]>> {
  const state: Record<ContainerdKind, string[]> = { containers: [], sandboxes: [], tasks: [], snapshots: [], leases: [], ingests: [] };
  if (ctr === undefined) return state;
  const words = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');
  const namespaces = words(await ctr('namespaces', 'ls', '--quiet'));
  for (const namespace of namespaces) {
    const list = (...args: string[]) => ctr('--namespace', namespace, ...args).then(words);
    const named = (entries: string[]) => entries.map((entry) => `${namespace}/${entry}`);
    const table = (...args: string[]) => list(...args).then((lines) => lines.slice(1).map((line) => line.trim().split(/\s+/)));
    const [containers, sandboxes, tasks, leases, ingests, ...snapshots] = await Promise.all([
      list('containers', 'ls', '--quiet'),
      table('sandboxes', 'ls'),
      list('tasks', 'ls', '--quiet'),
      list('leases', 'ls', '--quiet'),
      table('content', 'active'),
      ...snapshotters.map((snapshotter) => table('snapshots', '--snapshotter', snapshotter, 'ls')),
    ]);
    state.containers.push(...named(containers));
    state.sandboxes.push(...named(sandboxes.map(([id = '']) => id)));
    state.tasks.push(...named(tasks));
    state.leases.push(...named(leases));
    state.ingests.push(...named(ingests.map(([ref = '']) => ref)));
    // Committed snapshots are images' layers and stay; the others belong to containers.
    state.snapshots.push(...named(snapshots.flat().filter((row) => row.at(-1) !== 'Committed').map((row) => row[0] ?? '')));
  }
  return state;
}

/** Sockets of shims are under a path that containerd fixes; those of the node are found by the processes that hold them. */
async function readShimSockets(place: Place, directory: string): Promise<string[]> {
  const held = await readFile(`/proc/${place.pid}/net/unix`, 'utf8');
  const paths = held.split('\n').flatMap((line) => /\s(\/\S+)$/.exec(line)?.[1] ?? []);
  return [...new Set(paths.filter((path) => path.startsWith(directory) && path.includes('/s/')))].sort();
}

/** Files of the node that a process has open, whatever their numbers. */
async function readDescriptors(pid: number | undefined, directory: string): Promise<string[]> {
  if (pid === undefined) return [];
  const descriptors = await readdir(`/proc/${pid}/fd`).catch((): string[] => []);
  const targets = await Promise.all(descriptors.map((descriptor) => readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '')));
  return [...new Set(targets.filter((target) => target.startsWith(directory)))].sort();
}
