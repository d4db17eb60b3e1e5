import { readFile, readdir, statfs } from 'node:fs/promises';
import { hostname as osHostname } from 'node:os';
import { pathExists } from '../runtime/path-exists.js';
import { decodeCapabilities } from './capability-names.js';
import { mountOf, readMountInfo, type MountInfo } from './mount-info.js';
import { readSelinuxContexts, type SelinuxContexts, type SelinuxPolicyPaths } from './selinux-contexts.js';

/** What of the node decides how a spec is written. Read once at start with `readNodeFacts`. */
export interface NodeFacts {
  /** The node's host name, for `HOSTNAME` in pods without one of their own. */
  hostname: string;
  /** `v2` where `/sys/fs/cgroup` is the unified hierarchy; a hybrid set-up is `v1`. */
  cgroup: 'v1' | 'v2';
  /** Who makes the cgroups: taken from the runtime handler's options (`SystemdCgroup`), not from the node. */
  cgroupDriver: 'cgroupfs' | 'systemd';
  /** Options of the node's own mount of `/sys/fs/cgroup`, for example `nsdelegate`; a container without a cgroup namespace shares them. */
  cgroupMountOptions: string[];
  /** Mounted (v1) or enabled (v2) controllers, for example `cpu`, `memory`, `hugetlb`. */
  controllers: string[];
  /** Huge page sizes as CRI and OCI write them, for example `2MB`, `1GB`. */
  hugepageSizes: string[];
  /** Whether the kernel can limit swap by cgroup. */
  swapAccounting: boolean;
  seccompEnabled: boolean;
  apparmorEnabled: boolean;
  selinuxEnabled: boolean;
  /** What the policy gives containers; absent where SELinux is off or its policy knows no containers. */
  selinuxContexts?: SelinuxContexts;
  /** The daemon's bounding set, by name: no container gets more. */
  capabilities: string[];
  /** The lowest `oom_score_adj` that may be given: -1000 with CAP_SYS_RESOURCE, otherwise the daemon's own. */
  oomScoreAdjMin: number;
  /** Network sysctls the kernel has, of those that get a default. */
  networkSysctls: { unprivilegedPortStart: boolean; pingGroupRange: boolean };
  /** The kernel has mount_setattr(2): recursively read-only and idmapped mounts. */
  mountSetattr: boolean;
  /** The kernel makes user namespaces, and may. */
  userNamespaces: boolean;
  /** `process.arch` of the node. */
  arch: string;
}

/** Where to look, and what only the configuration knows. The paths differ in tests only. */
export interface NodeFactsOptions {
  /** Default `/proc`. */
  proc?: string;
  /** Default `/sys`. */
  sys?: string;
  /** Default: the node's own policy. */
  selinuxPolicy?: SelinuxPolicyPaths;
  /** Default `cgroupfs`. */
  cgroupDriver?: 'cgroupfs' | 'systemd';
  /** Default false. */
  mountSetattr?: boolean;
}

/** CGROUP2_SUPER_MAGIC of linux/magic.h. */
const CGROUP2_MAGIC = 0x63677270;

/**
 * Reads what this node can do. Nothing in it changes while the daemon runs but by a reboot, so once is enough.
 *
 * @throws the read error, where `/proc` itself cannot be read; every other missing file means that the feature is absent.
 */
export async function readNodeFacts(options: NodeFactsOptions = {}): Promise<NodeFacts> {
  const proc = options.proc ?? '/proc';
  const sys = options.sys ?? '/sys';
  const cgroupRoot = `${sys}/fs/cgroup`;
  const status = await readFile(`${proc}/self/status`, 'utf8');
  const field = (name: string): string | undefined => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1];
  const cgroup = (await isCgroup2(cgroupRoot)) ? 'v2' : 'v1';
  const mounts = await readMountInfo(`${proc}/self/mountinfo`).catch(() => []);
  const controllers = cgroup === 'v2' ? await v2Controllers(cgroupRoot) : v1Controllers(mounts);
  const mayRaisePriority = decodeCapabilities(field('CapEff') ?? '0').includes('CAP_SYS_RESOURCE');
  const [hugepages, ownOomScore, swapAccounting, apparmor, selinuxEnabled, portStart, pingRange, maxUserNamespaces] = await Promise.all([
    listOrNone(`${sys}/kernel/mm/hugepages`),
    textOrNone(`${proc}/self/oom_score_adj`),
    cgroup === 'v2' ? v2SwapAccounting(cgroupRoot, proc) : v1SwapAccounting(mounts),
    textOrNone(`${sys}/module/apparmor/parameters/enabled`),
    pathExists(`${sys}/fs/selinux/enforce`),
    pathExists(`${proc}/sys/net/ipv4/ip_unprivileged_port_start`),
    pathExists(`${proc}/sys/net/ipv4/ping_group_range`),
    textOrNone(`${proc}/sys/user/max_user_namespaces`),
  ]);
  const selinuxContexts = selinuxEnabled ? await readSelinuxContexts(options.selinuxPolicy) : undefined;
  return {
    hostname: osHostname(),
    cgroup,
    cgroupDriver: options.cgroupDriver ?? 'cgroupfs',
    cgroupMountOptions: mountOf('/sys/fs/cgroup', mounts)?.superOptions ?? [],
    controllers,
    hugepageSizes: hugepages.flatMap(hugepageSize).sort(),
    swapAccounting,
    seccompEnabled: field('Seccomp') !== undefined,
    apparmorEnabled: apparmor?.trim() === 'Y' && (await pathExists(`${sys}/kernel/security/apparmor`)),
    selinuxEnabled,
    ...(selinuxContexts && { selinuxContexts }),
    capabilities: decodeCapabilities(field('CapBnd') ?? '0'),
    oomScoreAdjMin: mayRaisePriority ? -1000 : Number(ownOomScore?.trim() ?? '0'),
    networkSysctls: { unprivilegedPortStart: portStart, pingGroupRange: pingRange },
    mountSetattr: options.mountSetattr ?? false,
    userNamespaces: Number(maxUserNamespaces?.trim() ?? '0') > 0,
    arch: process.arch,
  };
}

/** `hugepages-2048kB` to `2MB`: the largest unit that divides the size, as CRI's HugepageLimit.page_size writes it. */
function hugepageSize(directory: string): string[] {
  const kilobytes = /^hugepages-(\d+)kB$/.exec(directory)?.[1];
  if (kilobytes === undefined) return [];
  let size = Number(kilobytes);
  const units = ['KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (size >= 1024 && size % 1024 === 0 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return [`${size}${units[unit] ?? 'KB'}`];
}

async function isCgroup2(root: string): Promise<boolean> {
  try {
    return (await statfs(root)).type === CGROUP2_MAGIC;
  } catch {
    return false;
  }
}

async function v2Controllers(root: string): Promise<string[]> {
  const text = (await textOrNone(`${root}/cgroup.controllers`)) ?? '';
  return text.split(/\s+/).filter((name) => name !== '');
}

/** A v1 controller is there when some hierarchy is mounted with its name among the super block's options. */
function v1Controllers(mounts: readonly MountInfo[]): string[] {
  const found = new Set<string>();
  for (const { superOptions } of v1Hierarchies(mounts)) {
    for (const option of superOptions) if (/^[a-z_]+$/.test(option) && option !== 'rw' && option !== 'ro') found.add(option);
  }
  return [...found].sort();
}

function v1Hierarchies(mounts: readonly MountInfo[]): MountInfo[] {
  return mounts.filter(({ type }) => type === 'cgroup');
}

async function v1SwapAccounting(mounts: readonly MountInfo[]): Promise<boolean> {
  const memory = v1Hierarchies(mounts).find(({ superOptions }) => superOptions.includes('memory'));
  return memory !== undefined && (await pathExists(`${memory.mountPoint}/memory.memsw.limit_in_bytes`));
}

/** `memory.swap.max` exists in every cgroup but the root: the daemon's own, or the first child of the root, tells. */
async function v2SwapAccounting(root: string, proc: string): Promise<boolean> {
  const own = /^0::(\/.*)$/m.exec((await textOrNone(`${proc}/self/cgroup`)) ?? '')?.[1] ?? '/';
  const candidates = own === '/' ? (await listOrNone(root)).map((name) => `/${name}`) : [own];
  for (const candidate of candidates) {
    if (!(await pathExists(`${root}${candidate}/memory.current`))) continue;
    return pathExists(`${root}${candidate}/memory.swap.max`);
  }
  return false;
}

async function textOrNone(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

async function listOrNone(path: string): Promise<string[]> {
  return readdir(path).catch(() => []);
}
