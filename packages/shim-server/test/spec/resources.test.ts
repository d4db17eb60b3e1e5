import { LinuxContainerResources, type DeepPartial } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import t from 'tap';
import { oomScoreAdj } from '../../src/spec/oom-score.js';
import { buildResources } from '../../src/spec/resources.js';
import { errorOf, node } from './fixtures.js';

const MIB = 1024n * 1024n;

function build(resources: DeepPartial<LinuxContainerResources>, facts = node()) {
  return buildResources('config.linux.resources', LinuxContainerResources.fromPartial(resources), facts);
}

void t.test('0 means not set', (t) => {
  t.same(build({}), {});
  t.end();
});

void t.test('CPU and cpuset', (t) => {
  t.same(build({ cpuShares: 512n, cpuPeriod: 100000n, cpuQuota: 50000n, cpusetCpus: '0-1,3', cpusetMems: '0' }), {
    cpu: { shares: 512, period: 100000, quota: 50000, cpus: '0-1,3', mems: '0' },
  });
  t.same(build({ cpuQuota: -1n }), { cpu: { quota: -1 } });
  t.end();
});

void t.test('R5 swap', async (t) => {
  const limit = 64n * MIB;
  t.same(build({ memoryLimitInBytes: limit }).memory, { limit: Number(limit), swap: Number(limit) }, 'off by default');
  t.same(build({ memoryLimitInBytes: limit, memorySwapLimitInBytes: limit }).memory, {
    limit: Number(limit),
    swap: Number(limit),
  });
  t.same(build({ memoryLimitInBytes: limit, memorySwapLimitInBytes: 2n * limit }).memory, {
    limit: Number(limit),
    swap: Number(2n * limit),
  });
  t.same(build({ memoryLimitInBytes: limit, memorySwapLimitInBytes: -1n }).memory, { limit: Number(limit), swap: -1 });
  const absent = node({ swapAccounting: false });
  t.same(build({ memoryLimitInBytes: limit, memorySwapLimitInBytes: 2n * limit }, absent).memory, {
    limit: Number(limit),
  });
  const less = await errorOf(() => build({ memoryLimitInBytes: limit, memorySwapLimitInBytes: limit - 1n }));
  t.equal(less.code, status.INVALID_ARGUMENT);
  t.match(less.message, /config\.linux\.resources\.memory_swap_limit_in_bytes.*less/);
  t.match((await errorOf(() => build({ memorySwapLimitInBytes: limit }))).message, /needs a memory limit/);
});

void t.test('limits beyond 2^53 stay exact', (t) => {
  t.equal(build({ memoryLimitInBytes: 9223372036854771712n }).memory?.limit, 9223372036854771712n);
  t.end();
});

void t.test('negative and absurd values are refused by field', async (t) => {
  const cases: [DeepPartial<LinuxContainerResources>, RegExp][] = [
    [{ cpuShares: -5n }, /cpu_shares: -5 is out of range/],
    [{ cpuShares: 1n }, /cpu_shares/],
    [{ cpuShares: 262145n }, /cpu_shares/],
    [{ cpuPeriod: 999n }, /cpu_period/],
    [{ cpuPeriod: 1000001n }, /cpu_period/],
    [{ cpuPeriod: -1n }, /cpu_period/],
    [{ cpuQuota: -2n }, /cpu_quota/],
    [{ cpuQuota: 999n }, /cpu_quota/],
    [{ memoryLimitInBytes: -2n }, /memory_limit_in_bytes/],
    [{ memorySwapLimitInBytes: -2n }, /memory_swap_limit_in_bytes/],
    [{ cpusetCpus: '3-1' }, /cpuset_cpus: "3-1"/],
    [{ cpusetCpus: 'all' }, /cpuset_cpus/],
    [{ cpusetMems: '0,' }, /cpuset_mems/],
    [{ hugepageLimits: [{ pageSize: '2M', limit: 0n }] }, /hugepage_limits\[0\]\.page_size/],
    [{ hugepageLimits: [{ pageSize: '2MB', limit: -1n }] }, /hugepage_limits\[0\]\.limit/],
    [{ hugepageLimits: [{ pageSize: '16GB', limit: 1n }] }, /no huge pages of 16GB/],
  ];
  for (const [resources, message] of cases) {
    const error = await errorOf(() => build(resources));
    t.equal(error.code, status.INVALID_ARGUMENT);
    t.match(error.message, message);
    t.match(error.message, /^config\.linux\.resources\./);
  }
});

void t.test('huge pages: those the node has, none without the controller', (t) => {
  const hugepageLimits = [
    { pageSize: '2MB', limit: 4n * MIB },
    { pageSize: '16GB', limit: 0n },
  ];
  t.same(build({ hugepageLimits }), { hugepageLimits: [{ pageSize: '2MB', limit: Number(4n * MIB) }] });
  t.same(build({ hugepageLimits }, node({ controllers: ['cpu'] })), {});
  t.end();
});

void t.test('huge pages without the controller: an error where it is not tolerated', async (t) => {
  const limits = (limit: bigint) => LinuxContainerResources.fromPartial({ hugepageLimits: [{ pageSize: '2MB', limit }] });
  const bare = node({ controllers: ['cpu'] });
  t.same(buildResources('f', limits(0n), bare, { tolerateMissingHugetlb: false }), {}, 'the kubelet names every size');
  const error = await errorOf(() => buildResources('f', limits(1n), bare, { tolerateMissingHugetlb: false }));
  t.equal(error.code, status.FAILED_PRECONDITION);
  t.match(error.message, /^f\.hugepage_limits\[0\]: .*hugetlb/);
});

void t.test('unified files: v2 only', async (t) => {
  const unified = { 'memory.high': '1000', 'hugetlb.2MB.max': 'max' };
  t.same(build({ unified }, node({ cgroup: 'v2' })), { unified });
  t.equal((await errorOf(() => build({ unified }))).code, status.FAILED_PRECONDITION);
  t.match((await errorOf(() => build({ unified: { '../x': '1' } }, node({ cgroup: 'v2' })))).message, /"\.\.\/x"/);
});

void t.test('oom_score_adj is clamped to what the node can set', async (t) => {
  t.equal(oomScoreAdj('f', -998n, { oomScoreAdjMin: -1000 }), -998);
  t.equal(oomScoreAdj('f', -998n, { oomScoreAdjMin: 0 }), 0);
  t.equal(oomScoreAdj('f', 900n, { oomScoreAdjMin: 0 }), 900);
  t.match((await errorOf(() => oomScoreAdj('field', 1001n, { oomScoreAdjMin: 0 }))).message, /^field: 1001/);
});
