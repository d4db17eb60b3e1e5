import { LinuxContainerResources, type DeepPartial } from '@criquet/cri-api';
import { test } from 'tap';
import { mergeResources } from '../../src/spec/index.js';

const resources = (fields: DeepPartial<LinuxContainerResources>) => LinuxContainerResources.fromPartial(fields);
const merge = (before: DeepPartial<LinuxContainerResources> | undefined, update: DeepPartial<LinuxContainerResources>) =>
  mergeResources(before === undefined ? undefined : resources(before), resources(update));

test('what an update leaves unset stays', (t) => {
  const before = { cpuPeriod: 100_000n, cpuQuota: 20_000n, cpuShares: 512n, memoryLimitInBytes: 1n, cpusetCpus: '0', cpusetMems: '0', oomScoreAdj: 5n };
  t.match(merge(before, {}), before);
  t.match(merge(before, { cpuQuota: -1n }), { ...before, cpuQuota: -1n });
  t.match(merge(before, { cpusetCpus: '1-3' }), { ...before, cpusetCpus: '1-3' });
  t.match(merge(undefined, { cpuShares: 9n }), { cpuShares: 9n, memoryLimitInBytes: 0n });
  t.end();
});

test('the OOM score of running processes is not changed', (t) => {
  t.equal(merge({ oomScoreAdj: 5n }, { oomScoreAdj: 900n }).oomScoreAdj, 5n);
  t.equal(merge(undefined, { oomScoreAdj: 900n }).oomScoreAdj, 0n);
  t.end();
});

test('huge pages and unified keys one by one', (t) => {
  const merged = merge(
    { hugepageLimits: [{ pageSize: '2MB', limit: 1n }, { pageSize: '1GB', limit: 2n }], unified: { 'memory.high': '1', 'memory.low': '2' } },
    { hugepageLimits: [{ pageSize: '2MB', limit: 3n }], unified: { 'memory.high': 'max' } },
  );
  t.match(merged.hugepageLimits, [{ pageSize: '1GB', limit: 2n }, { pageSize: '2MB', limit: 3n }]);
  t.same(merged.unified, { 'memory.high': 'max', 'memory.low': '2' });
  t.end();
});

test('R5: a new memory limit keeps the amount of swap beyond it', (t) => {
  const swap = (memoryLimitInBytes: bigint, memorySwapLimitInBytes: bigint, update: DeepPartial<LinuxContainerResources>) =>
    merge({ memoryLimitInBytes, memorySwapLimitInBytes }, update).memorySwapLimitInBytes;
  t.equal(swap(64n, 64n, { memoryLimitInBytes: 128n }), 128n, 'none stays none');
  t.equal(swap(64n, 128n, { memoryLimitInBytes: 32n }), 96n);
  t.equal(swap(64n, -1n, { memoryLimitInBytes: 32n }), -1n);
  t.equal(swap(64n, 0n, { memoryLimitInBytes: 32n }), 0n, 'off by default');
  t.equal(swap(64n, 128n, { memoryLimitInBytes: -1n }), -1n);
  t.equal(swap(64n, 64n, { memorySwapLimitInBytes: 100n }), 100n);
  t.equal(swap(64n, 64n, { cpuShares: 3n }), 64n);
  t.end();
});
