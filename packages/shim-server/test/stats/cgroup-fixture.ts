import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files by their path below a directory; writes them there. */
export async function writeTree(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** The files of a cgroup on v2, in the formats of the kernel's admin-guide/cgroup-v2.rst and accounting/psi.rst. */
export const V2_FILES: Readonly<Record<string, string>> = {
  'cgroup.procs': '4711\n4712\n',
  'cpu.stat':
    'usage_usec 5000000\nuser_usec 3000000\nsystem_usec 2000000\nnr_periods 40\nnr_throttled 4\nthrottled_usec 1500000\nnr_bursts 0\nburst_usec 0\n',
  'cpu.max': '20000 100000\n',
  'cpu.weight': '100\n',
  'cpu.pressure': pressure(1000, 10),
  'memory.current': '100000000\n',
  'memory.max': '200000000\n',
  'memory.low': '50000000\n',
  'memory.peak': '150000000\n',
  'memory.stat':
    'anon 60000000\nfile 30000000\nkernel 9000000\nfile_mapped 7000000\ninactive_anon 0\nactive_anon 60000000\ninactive_file 20000000\nactive_file 10000000\npgfault 900\npgmajfault 9\n',
  'memory.events': 'low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n',
  'memory.swap.current': '1000000\n',
  'memory.swap.max': '4000000\n',
  'memory.pressure': pressure(2000, 20),
  'io.pressure': pressure(3000, 30),
  'io.stat': '8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021\n',
  'pids.current': '5\n',
  'pids.max': '64\n',
  'hugetlb.2MB.current': '4194304\n',
};

/** The same cgroup on v1, by controller, in the formats of admin-guide/cgroup-v1/. */
export function v1Files(path: string): Record<string, string> {
  const in_ = (controller: string, file: string) => `${controller}${path}/${file}`;
  return {
    [in_('pids', 'cgroup.procs')]: '4711\n4712\n',
    [in_('pids', 'pids.current')]: '5\n',
    [in_('pids', 'pids.max')]: '64\n',
    [in_('cpuacct', 'cpuacct.usage')]: '5000000000\n',
    [in_('cpuacct', 'cpuacct.stat')]: 'user 300\nsystem 200\n',
    [in_('cpu', 'cpu.stat')]: 'nr_periods 40\nnr_throttled 4\nthrottled_time 1500000000\n',
    [in_('cpu', 'cpu.cfs_period_us')]: '100000\n',
    [in_('cpu', 'cpu.cfs_quota_us')]: '20000\n',
    [in_('cpu', 'cpu.shares')]: '512\n',
    [in_('memory', 'memory.usage_in_bytes')]: '100000000\n',
    [in_('memory', 'memory.limit_in_bytes')]: '200000000\n',
    [in_('memory', 'memory.soft_limit_in_bytes')]: '9223372036854771712\n',
    [in_('memory', 'memory.memsw.usage_in_bytes')]: '101000000\n',
    [in_('memory', 'memory.memsw.limit_in_bytes')]: '204000000\n',
    [in_('memory', 'memory.max_usage_in_bytes')]: '150000000\n',
    [in_('memory', 'memory.kmem.usage_in_bytes')]: '9000000\n',
    [in_('memory', 'memory.failcnt')]: '7\n',
    [in_('memory', 'memory.oom_control')]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
    [in_('memory', 'memory.stat')]:
      'cache 1\nrss 2\npgfault 800\npgmajfault 8\ninactive_file 5\ntotal_cache 30000000\ntotal_rss 60000000\ntotal_mapped_file 7000000\ntotal_pgfault 900\ntotal_pgmajfault 9\ntotal_inactive_file 20000000\ntotal_active_file 10000000\n',
    [in_('blkio', 'blkio.throttle.io_service_bytes_recursive')]: '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n8:0 Async 12288\n8:0 Discard 0\n8:0 Total 12288\nTotal 12288\n',
    [in_('blkio', 'blkio.throttle.io_serviced_recursive')]: '8:0 Read 1\n8:0 Write 2\n8:0 Sync 0\n8:0 Async 3\n8:0 Discard 0\n8:0 Total 3\nTotal 3\n',
    [in_('hugetlb', 'hugetlb.2MB.usage_in_bytes')]: '4194304\n',
    [in_('hugetlb', 'hugetlb.2MB.max_usage_in_bytes')]: '6291456\n',
  };
}

/** Totals in microseconds. */
export function pressure(some: number, full: number): string {
  return `some avg10=1.50 avg60=0.25 avg300=0.05 total=${some}\nfull avg10=0.50 avg60=0.10 avg300=0.00 total=${full}\n`;
}
