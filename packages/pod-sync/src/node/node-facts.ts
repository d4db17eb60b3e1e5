import { access, readFile } from 'node:fs/promises';
import { availableParallelism, hostname, networkInterfaces, totalmem } from 'node:os';

/** What translating a pod needs to know of the machine that it runs on; a kubelet takes it from its own node. */
export interface NodeFacts {
  /** `spec.nodeName` of a pod that names none. */
  readonly nodeName: string;
  /** Addresses for `status.hostIP` and `status.hostIPs`, the first is the main one. */
  readonly hostIps: readonly string[];
  /** Processors of the machine, for variables that take a missing cpu limit. */
  readonly cpuCount: number;
  /** Memory of the machine in bytes; a Burstable container's share of it decides its oom_score_adj. */
  readonly memoryCapacity: bigint;
  /** Whether memory limits can cover swap (cgroup v2 memory.swap.max or v1 memory.memsw). */
  readonly swapLimits: boolean;
  /** Whether cgroups are v2 only. */
  readonly cgroupV2: boolean;
  /** The machine's resolver settings, for `dnsPolicy: Default`. */
  readonly resolvConf: ResolvConf;
}

export interface ResolvConf {
  readonly nameservers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Reads the facts of this machine. The runtime is assumed to run on it too: CRI endpoints are unix sockets. */
export async function readNodeFacts(resolvConfPath = '/etc/resolv.conf'): Promise<NodeFacts> {
  const cgroupV2 = await exists('/sys/fs/cgroup/cgroup.controllers');
  const swapFile = cgroupV2 ? await ownSwapFile() : '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes';
  return {
    nodeName: hostname().toLowerCase(),
    hostIps: hostAddresses(),
    cpuCount: availableParallelism(),
    memoryCapacity: BigInt(totalmem()),
    swapLimits: swapFile !== undefined && (await exists(swapFile)),
    cgroupV2,
    resolvConf: parseResolvConf(await readOrEmpty(resolvConfPath)),
  };
}

/** The lines of a resolv.conf that a pod takes over. The last `search` and `options` lines count (resolv.conf(5)). */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) nameservers.push(values[0]);
    else if (keyword === 'search') searches = values.filter((domain) => domain !== '.');
    else if (keyword === 'options') options = values;
  }
  return { nameservers, searches, options };
}

function hostAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter((address) => !address.internal && !address.address.startsWith('fe80:'));
  const ordered = [...outside].sort((a, b) => (a.family === b.family ? 0 : a.family === 'IPv4' ? -1 : 1));
  return ordered.length > 0 ? ordered.map((address) => address.address) : ['127.0.0.1'];
}

/** cgroup v2 has no swap file at its root; any group below shows whether the kernel accounts swap. */
async function ownSwapFile(): Promise<string | undefined> {
  const own = (await readOrEmpty('/proc/self/cgroup')).split('\n').find((line) => line.startsWith('0::'))?.slice(3);
  return own === undefined ? undefined : `/sys/fs/cgroup${own === '/' ? '/init.scope' : own}/memory.swap.max`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function readOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
