import type { CgroupFiles } from './cgroup-files.js';

/** Bytes, unless said otherwise. */
export interface Memory {
  readonly usage: bigint;
  /** What cannot be reclaimed easily: usage without the inactive part of the page cache, as the kubelet and cAdvisor count it. */
  readonly workingSet: bigint;
  /** Absent without a limit. */
  readonly limit?: bigint;
  readonly rss: bigint;
  readonly cache: bigint;
  readonly mappedFile: bigint;
  readonly activeFile: bigint;
  readonly inactiveFile: bigint;
  /** Counts; the hierarchical ones include cgroups below this one. */
  readonly pageFaults: bigint;
  readonly majorPageFaults: bigint;
  readonly hierarchicalPageFaults: bigint;
  readonly hierarchicalMajorPageFaults: bigint;
}

/** Memory of a cgroup and those below it: `memory.current`, `memory.stat`, `memory.max` on v2 and their like on v1. */
export function readMemory(files: CgroupFiles): Memory | undefined {
  const v2 = files.version === 'v2';
  const usage = files.number('memory', v2 ? 'memory.current' : 'memory.usage_in_bytes');
  const stat = files.keyed('memory', 'memory.stat');
  const limit = files.limit('memory', v2 ? 'memory.max' : 'memory.limit_in_bytes');
  if (usage === undefined || stat === undefined) return undefined;
  const of = (name: string) => stat.get(name) ?? 0n;
  // v2 counts hierarchically as it is; v1 has a name of its own for that.
  const total = v2 ? of : (name: string) => stat.get(`total_${name}`) ?? of(name);
  const inactiveFile = total('inactive_file');
  return {
    usage,
    workingSet: inactiveFile < usage ? usage - inactiveFile : 0n,
    ...(typeof limit === 'bigint' ? { limit } : {}),
    rss: v2 ? of('anon') : total('rss'),
    cache: v2 ? of('file') : total('cache'),
    mappedFile: v2 ? of('file_mapped') : total('mapped_file'),
    activeFile: total('active_file'),
    inactiveFile,
    pageFaults: of('pgfault'),
    majorPageFaults: of('pgmajfault'),
    hierarchicalPageFaults: total('pgfault'),
    hierarchicalMajorPageFaults: total('pgmajfault'),
  };
}
