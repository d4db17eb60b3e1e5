import 'reflect-metadata';
import { test, type Test } from 'tap';
import { LoopTurns } from '../../src/runtime/loop-turns.js';
import { readBlockIo } from '../../src/stats/cgroup/block-io.js';
import { CgroupFiles } from '../../src/stats/cgroup/cgroup-files.js';
import { readCpuTimes, readCpuUsage } from '../../src/stats/cgroup/cpu.js';
import { readHugePages } from '../../src/stats/cgroup/hugetlb.js';
import { readLimits } from '../../src/stats/cgroup/limits.js';
import { readMemoryEvents } from '../../src/stats/cgroup/memory-events.js';
import { readMemoryReclaim } from '../../src/stats/cgroup/memory-reclaim.js';
import { readMemory } from '../../src/stats/cgroup/memory.js';
import { parsePressure, readPressure } from '../../src/stats/cgroup/pressure.js';
import { readProcesses } from '../../src/stats/cgroup/processes.js';
import { readSwap } from '../../src/stats/cgroup/swap.js';
import { pressure, V2_FILES, v1Files, writeTree } from './cgroup-fixture.js';

const CPU = {
  user: 3_000_000_000n, system: 2_000_000_000n, periods: 40n, throttledPeriods: 4n, throttled: 1_500_000_000n, burstPeriods: 0n, burst: 0n,
};
const MEMORY = {
  usage: 100_000_000n, workingSet: 80_000_000n, limit: 200_000_000n, rss: 60_000_000n, cache: 30_000_000n, mappedFile: 7_000_000n,
  activeFile: 10_000_000n, inactiveFile: 20_000_000n, hierarchicalPageFaults: 900n, hierarchicalMajorPageFaults: 9n,
};

async function v2(t: Test, files: Readonly<Record<string, string>> = V2_FILES): Promise<CgroupFiles> {
  const root = t.testdir();
  await writeTree(root, Object.fromEntries(Object.entries(files).map(([name, text]) => [`pods/c1/${name}`, text])));
  return CgroupFiles.of('/pods/c1', { cgroup: 'v2' }, root);
}

async function v1(t: Test, change: Readonly<Record<string, string>> = {}): Promise<CgroupFiles> {
  const root = t.testdir();
  await writeTree(root, { ...v1Files('/pods/c1'), ...change });
  return CgroupFiles.of('/pods/c1', { cgroup: 'v1' }, root);
}

test('reclaim and bursts', async (t) => {
  const newer = await v2(t, {
    'memory.stat': 'file_dirty 8192\nfile_writeback 4096\nworkingset_refault_anon 3\nworkingset_refault_file 4\npgscan 50\npgsteal 40\n',
    'memory.events': 'low 0\nhigh 6\nmax 7\noom 1\noom_kill 1\n',
    'cpu.stat': 'usage_usec 9\nnr_bursts 2\nburst_usec 1500\n',
  });
  t.same(readMemoryReclaim(newer), {
    dirty: 8192n, writeback: 4096n, scanned: 50n, stolen: 40n, refaultedFile: 4n, refaultedAnonymous: 3n, highEvents: 6n, maxEvents: 7n,
  });
  t.match(readCpuTimes(newer), { burstPeriods: 2n, burst: 1_500_000n });
  const older = await v1(t, {
    'memory/pods/c1/memory.stat': 'dirty 1\nwriteback 2\ntotal_dirty 8192\ntotal_writeback 4096\n',
    'cpu/pods/c1/cpu.stat': 'nr_periods 1\nnr_bursts 2\nburst_time 1500\n',
  });
  t.match(readMemoryReclaim(older), { dirty: 8192n, writeback: 4096n, scanned: 0n, highEvents: 0n });
  t.match(readCpuTimes(older), { burstPeriods: 2n, burst: 1_500n });
});

test('cgroup v2', async (t) => {
  const files = await v2(t);
  t.equal(readCpuUsage(files), 5_000_000_000n);
  t.same(readCpuTimes(files), CPU);
  t.same(readMemory(files), { ...MEMORY, pageFaults: 900n, majorPageFaults: 9n });
  t.same(readSwap(files, readMemory(files)), { usage: 1_000_000n, limit: 4_000_000n });
  t.same(readMemoryEvents(files), { maxUsage: 150_000_000n, kernel: 9_000_000n, limitHits: 7n, oomKills: 1n });
  t.same(readLimits(files), {
    cpuPeriod: 100_000n, cpuQuota: 20_000n, cpuShares: 2597n, memory: 200_000_000n, memoryReservation: 50_000_000n,
    memorySwap: 204_000_000n, threads: 64n,
  });
  t.same(readHugePages(files, ['2MB', '1GB']), [{ pageSize: '2MB', usage: 4_194_304n }]);
  t.same(await readProcesses(files, new LoopTurns()), [4711, 4712]);
  t.same(readBlockIo(files), [
    { major: 8, minor: 16, bytes: { Read: 1_459_200n, Write: 314_773_504n, Discard: 0n }, requests: { Read: 192n, Write: 353n, Discard: 0n } },
    { major: 8, minor: 0, bytes: { Read: 90_430_464n, Write: 299_008_000n, Discard: 50_331_648n }, requests: { Read: 8950n, Write: 1252n, Discard: 3021n } },
  ]);
});

test('cgroup v1', async (t) => {
  const files = await v1(t);
  t.equal(readCpuUsage(files), 5_000_000_000n);
  t.same(readCpuTimes(files), CPU);
  t.same(readMemory(files), { ...MEMORY, pageFaults: 800n, majorPageFaults: 8n });
  t.same(readSwap(files, readMemory(files)), { usage: 1_000_000n, limit: 4_000_000n });
  t.same(readMemoryEvents(files), { maxUsage: 150_000_000n, kernel: 9_000_000n, limitHits: 7n, oomKills: 1n });
  t.same(readLimits(files), {
    cpuPeriod: 100_000n, cpuQuota: 20_000n, cpuShares: 512n, memory: 200_000_000n, memorySwap: 204_000_000n, threads: 64n,
  });
  t.same(readHugePages(files, ['2MB']), [{ pageSize: '2MB', usage: 4_194_304n, maxUsage: 6_291_456n }]);
  t.same(await readProcesses(files, new LoopTurns()), [4711, 4712]);
  const [device, ...more] = readBlockIo(files);
  t.same(more, []);
  t.match(device, { major: 8, minor: 0, bytes: { Read: 4096n, Write: 8192n }, requests: { Read: 1n, Write: 2n } });
  t.notOk('Total' in (device?.bytes ?? {}));
  t.equal(readPressure(files, 'cpu'), undefined, 'v1 alone keeps none');
});

test('unlimited is absent, in the words of either version', async (t) => {
  const on2 = await v2(t, { ...V2_FILES, 'cpu.max': 'max 50000\n', 'memory.max': 'max\n', 'memory.swap.max': 'max\n', 'memory.low': '0\n', 'pids.max': 'max\n' });
  t.same(readLimits(on2), { cpuPeriod: 50_000n, cpuShares: 2597n });
  t.equal((readMemory(on2))?.limit, undefined);
  t.same(readSwap(on2, readMemory(on2)), { usage: 1_000_000n });
  const none = '9223372036854771712\n';
  const on1 = await v1(t, {
    'memory/pods/c1/memory.limit_in_bytes': none, 'memory/pods/c1/memory.memsw.limit_in_bytes': none,
    'cpu/pods/c1/cpu.cfs_quota_us': '-1\n', 'pids/pods/c1/pids.max': 'max\n',
  });
  t.same(readLimits(on1), { cpuPeriod: 100_000n, cpuShares: 512n });
  t.equal((readMemory(on1))?.limit, undefined);
  t.same(readSwap(on1, readMemory(on1)), { usage: 1_000_000n });
});

test('what is not there is absent', async (t) => {
  for (const version of ['v1', 'v2'] as const) {
    const files = CgroupFiles.of('/gone', { cgroup: version }, t.testdir());
    t.equal(readCpuUsage(files), undefined);
    t.equal(readMemory(files), undefined);
    t.equal(readSwap(files, readMemory(files)), undefined);
    t.equal(readPressure(files, 'io'), undefined);
    t.same(await readProcesses(files, new LoopTurns()), []);
    t.same(readBlockIo(files), []);
    t.same(readHugePages(files, ['2MB']), []);
    t.same(readMemoryEvents(files), { limitHits: 0n, oomKills: 0n });
    t.same(readLimits(files), { cpuPeriod: 100_000n, cpuShares: 1024n });
  }
});

test('pressure comes in microseconds and leaves in nanoseconds; a hybrid v1 node has it beside its controllers', async (t) => {
  t.same(parsePressure(pressure(1234, 56)), {
    Some: { Total: 1_234_000n, Avg10: 1.5, Avg60: 0.25, Avg300: 0.05 },
    Full: { Total: 56_000n, Avg10: 0.5, Avg60: 0.1, Avg300: 0 },
  });
  t.equal(parsePressure('nonsense'), undefined);
  t.equal((readPressure(await v2(t), 'memory'))?.Some?.Total, 2_000_000n);
  const hybrid = await v1(t, { 'unified/pods/c1/io.pressure': pressure(7, 0) });
  t.equal((readPressure(hybrid, 'io'))?.Some?.Total, 7_000n);
});

test('processes of nested cgroups count, also where a container is a machine of its own', async (t) => {
  const files = await v2(t, { 'cgroup.procs': '', 'init.scope/cgroup.procs': '1\n', 'system.slice/a.service/cgroup.procs': '2\n3\n', 'other/cgroup.procs': '0\n' });
  t.same((await readProcesses(files, new LoopTurns())).sort(), [1, 2, 3]);
});

test('a systemd slice is the parent of its scopes', (t) => {
  const files = CgroupFiles.of('kubepods-pod1.slice:cri-containerd:c1', { cgroup: 'v2' }, '/cg');
  t.equal(files.directory(''), '/cg/kubepods.slice/kubepods-pod1.slice/cri-containerd-c1.scope');
  t.equal(files.parent.directory(''), '/cg/kubepods.slice/kubepods-pod1.slice');
  t.end();
});
