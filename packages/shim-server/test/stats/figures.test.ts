import 'reflect-metadata';
import { test } from 'tap';
import type { CgroupSample } from '../../src/stats/cgroup-samples.js';
import { CgroupSamples } from '../../src/stats/cgroup-samples.js';
import { CgroupFiles } from '../../src/stats/cgroup/cgroup-files.js';
import { cgroupUsage } from '../../src/stats/cgroup-usage.js';
import { cpuRate } from '../../src/stats/cpu-rate.js';
import { LoopTurns } from '../../src/runtime/loop-turns.js';
import { parseNetworkDevices, readNetworkDevices } from '../../src/stats/network-devices.js';
import { sumSamples } from '../../src/stats/sum-samples.js';
import { V2_FILES, writeTree } from './cgroup-fixture.js';

test('a CPU rate needs two moments, and a counter that does not step back', (t) => {
  const at = (seconds: number, usage: bigint) => ({ at: BigInt(seconds * 1e9), usage });
  t.equal(cpuRate(undefined, at(1, 5n)), undefined);
  t.equal(cpuRate(at(1, 0n), at(3, 2_000_000_000n)), 1_000_000_000n, 'one core for two seconds');
  t.equal(cpuRate(at(1, 0n), at(2, 2_000_000_000n)), 2_000_000_000n, 'two cores');
  t.equal(cpuRate(at(1, 5n), at(1, 6n)), undefined);
  t.equal(cpuRate(at(1, 5n), at(2, 4n)), undefined);
  t.equal(cpuRate(at(1, 5n), at(2, 5n)), 0n);
  t.end();
});

test('a cgroup is read once a second for all who ask, and tells a rate from the second time on', async (t) => {
  const root = t.testdir();
  const write = (usage: number) => writeTree(root, { 'c1/cpu.stat': `usage_usec ${usage}\n` });
  await writeTree(root, Object.fromEntries(Object.entries(V2_FILES).map(([name, text]) => [`c1/${name}`, text])));
  const files = CgroupFiles.of('/c1', { cgroup: 'v2' }, root);
  const samples = new CgroupSamples(new LoopTurns());
  const began = process.hrtime.bigint();
  const [first, same] = await Promise.all([samples.of('c1', files, { withSwap: true }), samples.of('c1', files, { withSwap: true })]);
  t.equal(first, same);
  t.equal(first.nanoCores, undefined);
  await write(6_000_000);
  t.equal(await samples.of('c1', files, { withSwap: true }), first, 'shared');
  await new Promise((resolve) => setTimeout(resolve, 1_050));
  const second = await samples.of('c1', files, { withSwap: true });
  const passed = process.hrtime.bigint() - began;
  t.ok(second.at > first.at);
  t.ok(second.nanoCores !== undefined && second.nanoCores <= 1_000_000_000n, 'at most a second of CPU in at least a second');
  t.ok((second.nanoCores ?? 0n) >= (1_000_000_000n * 1_000_000_000n) / passed, 'over the time between the two');
  samples.forget('c1');
  t.equal((await samples.of('c1', files, { withSwap: true })).nanoCores, undefined);
});

const SAMPLE: CgroupSample = {
  at: 7n,
  cpuUsage: 1n,
  nanoCores: 8n,
  memory: {
    usage: 100n, workingSet: 80n, limit: 200n, rss: 60n, cache: 30n, mappedFile: 7n, activeFile: 10n, inactiveFile: 20n,
    pageFaults: 90n, majorPageFaults: 9n, hierarchicalPageFaults: 91n, hierarchicalMajorPageFaults: 10n,
  },
  swap: { usage: 1n, limit: 4n },
  pressure: { cpu: { Some: undefined, Full: undefined } },
  processes: () => Promise.resolve([1, 2]),
};

test('CRI figures of a sample: what is left of a limit, and nothing where there is none', (t) => {
  t.match(cgroupUsage(SAMPLE), {
    cpu: { timestamp: 7n, usageCoreNanoSeconds: { value: 1n }, usageNanoCores: { value: 8n }, psi: {} },
    memory: {
      timestamp: 7n, workingSetBytes: { value: 80n }, availableBytes: { value: 120n }, usageBytes: { value: 100n }, rssBytes: { value: 60n },
      pageFaults: { value: 91n }, majorPageFaults: { value: 10n },
    },
    swap: { timestamp: 7n, swapAvailableBytes: { value: 3n }, swapUsageBytes: { value: 1n } },
    io: undefined,
  });
  const { limit: _, ...memory } = SAMPLE.memory as NonNullable<CgroupSample['memory']>;
  t.equal(cgroupUsage({ ...SAMPLE, memory }).memory?.availableBytes, undefined);
  t.same(cgroupUsage({ ...SAMPLE, memory: { ...memory, limit: 70n } }).memory?.availableBytes, { value: 0n }, 'a limit that was lowered');
  t.end();
});

test('several cgroups together', async (t) => {
  t.equal(sumSamples([]), undefined);
  const sum = sumSamples([SAMPLE, { ...SAMPLE, at: 9n, processes: () => Promise.resolve([3]) }]);
  t.match(sum, { at: 9n, cpuUsage: 2n, nanoCores: 16n, memory: { usage: 200n, limit: 400n }, pressure: {} });
  t.equal(sum?.swap, undefined, 'CRI knows none of pods');
  t.same(await sum?.processes(), [1, 2, 3]);
  const { nanoCores: _, ...fresh } = SAMPLE;
  t.equal(sumSamples([SAMPLE, fresh])?.nanoCores, undefined, 'a rate needs all of them');
  const { limit: __, ...unlimited } = SAMPLE.memory as NonNullable<CgroupSample['memory']>;
  t.equal(sumSamples([SAMPLE, { ...SAMPLE, memory: unlimited }])?.memory?.limit, undefined);
});

test('interfaces of a network namespace (proc_pid_net(5))', async (t) => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 945405525   56573    0    0    0     0          0         0 945405525   56573    0    0    0     0       0          0
  eth0: 1060660069   45444    1    2    0     0          0         9  3506361   33610    3    4    0     5       0          0
`;
  t.same(parseNetworkDevices(text).map(({ name }) => name), ['lo', 'eth0']);
  await writeTree(t.testdir(), { '42/net/dev': text });
  t.same(readNetworkDevices(42, t.testdirName), [
    {
      name: 'eth0',
      received: { bytes: 1_060_660_069n, packets: 45_444n, errors: 1n, dropped: 2n },
      sent: { bytes: 3_506_361n, packets: 33_610n, errors: 3n, dropped: 4n },
    },
  ]);
  t.equal(readNetworkDevices(43, t.testdirName), undefined);
});
