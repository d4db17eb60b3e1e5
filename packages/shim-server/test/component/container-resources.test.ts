import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerConfig, DeepPartial, LinuxContainerResources, PodSandboxConfig } from '@criquet/cri-api';
import { decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import { status } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import type { CriquetConfig } from '../../src/config/index.js';
import type { Replacements } from '../../src/composition-root.js';
import { NAMESPACE, Shim } from './shim-harness.js';

const MIB = 1024n * 1024n;
const bytes = (mebibytes: bigint) => Number(mebibytes * MIB);

interface Options {
  readonly facts?: Replacements['nodeFacts'];
  readonly resources?: Partial<CriquetConfig['resources']>;
  readonly pod?: DeepPartial<PodSandboxConfig>;
}

async function start(t: Test, { facts = {}, resources = {}, pod = {} }: Options = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'criquet-sys-'));
  t.teardown(() => rm(dir, { recursive: true }));
  const shim = await Shim.start({
    node: {
      nodeFacts: { cgroup: 'v2', controllers: ['cpu', 'memory', 'hugetlb'], hugepageSizes: ['2MB'], swapAccounting: true, ...facts },
      nodeRoots: { proc: '/proc', sys: join(dir, 'sys') },
    },
    change: (config) => ({ ...config, resources: { ...config.resources, ...resources } }),
  });
  t.teardown(() => shim.close());
  const podId = await shim.runPod(pod);
  let count = 0;
  const create = async (config: DeepPartial<ContainerConfig>): Promise<RuntimeSpec> => {
    const id = await shim.createContainer(podId, { metadata: { name: `c-${++count}`, attempt: 0 }, ...config });
    return decodeSpec(shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never);
  };
  const withLimits = async (limits: DeepPartial<LinuxContainerResources>) => (await create({ linux: { resources: limits } })).linux?.resources;
  return { shim, dir, create, withLimits };
}

test('resources of a new container, each where the runtime looks for it', async (t) => {
  const { create, shim } = await start(t, { facts: { oomScoreAdjMin: -1000 } });
  const resources = {
    cpuPeriod: 50_000n,
    cpuQuota: 20_000n,
    cpuShares: 512n,
    memoryLimitInBytes: 64n * MIB,
    memorySwapLimitInBytes: 96n * MIB,
    oomScoreAdj: 123n,
    cpusetCpus: '0-1',
    cpusetMems: '0',
    hugepageLimits: [{ pageSize: '2MB', limit: 4n * MIB }],
    unified: { 'memory.high': '50000000' },
  };
  const spec = await create({ linux: { resources } });
  t.match(spec.linux?.resources, {
    cpu: { period: 50_000, quota: 20_000, shares: 512, cpus: '0-1', mems: '0' },
    memory: { limit: bytes(64n), swap: bytes(96n) },
    hugepageLimits: [{ pageSize: '2MB', limit: bytes(4n) }],
    unified: { 'memory.high': '50000000' },
  });
  t.equal(spec.process?.oomScoreAdj, 123);
  const { containers } = await shim.cri.runtime.listContainers({});
  t.match((await shim.cri.runtime.containerStatus({ containerId: containers[0]?.id ?? '' })).status?.resources?.linux, resources);
});

test('R5 swap: off by default, as asked for, never less than memory, left out where the kernel does not account it', async (t) => {
  const { withLimits } = await start(t);
  const limit = { memoryLimitInBytes: 64n * MIB };
  t.match((await withLimits(limit))?.memory, { limit: bytes(64n), swap: bytes(64n) });
  t.match((await withLimits({ ...limit, memorySwapLimitInBytes: 64n * MIB }))?.memory, { swap: bytes(64n) });
  t.match((await withLimits({ ...limit, memorySwapLimitInBytes: 128n * MIB }))?.memory, { swap: bytes(128n) });
  t.match((await withLimits({ ...limit, memorySwapLimitInBytes: -1n }))?.memory, { swap: -1 });
  await t.rejects(withLimits({ ...limit, memorySwapLimitInBytes: 32n * MIB }), { code: status.INVALID_ARGUMENT, details: /memory_swap_limit_in_bytes/ });
  const without = await start(t, { facts: { swapAccounting: false } });
  t.same((await without.withLimits({ ...limit, memorySwapLimitInBytes: 128n * MIB }))?.memory, { limit: bytes(64n) });
});

test('huge pages without their controller: left out, or an error where the configuration says so', async (t) => {
  const hugepageLimits = [{ pageSize: '2MB', limit: 4n * MIB }];
  const facts = { controllers: ['cpu', 'memory'] };
  t.equal((await (await start(t, { facts })).withLimits({ hugepageLimits }))?.hugepageLimits, undefined);
  const strict = await start(t, { facts, resources: { tolerateMissingHugetlbController: false } });
  await t.rejects(strict.withLimits({ hugepageLimits }), { code: status.FAILED_PRECONDITION, details: /hugepage_limits\[0\]/ });
  const podSandboxId = (await strict.shim.cri.runtime.listPodSandbox({})).items[0]?.id ?? '';
  const containerId = await strict.shim.createContainer(podSandboxId);
  await t.rejects(strict.shim.cri.runtime.updateContainerResources({ containerId, linux: { hugepageLimits } }), { code: status.FAILED_PRECONDITION, details: /hugepage_limits\[0\]/ });
});

test('unified keys are for cgroup v2', async (t) => {
  const { withLimits } = await start(t, { facts: { cgroup: 'v1' } });
  await t.rejects(withLimits({ unified: { 'memory.high': '1' } }), { code: status.FAILED_PRECONDITION, details: /config\.linux\.resources\.unified/ });
});

test('default ulimits of the configuration', async (t) => {
  const { create } = await start(t, { resources: { defaultUlimits: ['nofile=1024:4096', 'core=0', 'memlock=unlimited'] } });
  t.same((await create({})).process?.rlimits, [
    { type: 'RLIMIT_NOFILE', soft: 1024, hard: 4096 },
    { type: 'RLIMIT_CORE', soft: 0, hard: 0 },
    { type: 'RLIMIT_MEMLOCK', soft: 18446744073709551615n, hard: 18446744073709551615n },
  ]);
});

test('RDT class by annotation of the container or pod', async (t) => {
  const asking = { annotations: { 'io.kubernetes.cri.rdt-class': 'gold' } };
  const { create, dir } = await start(t, { pod: { annotations: { 'rdt.resources.beta.kubernetes.io/container.app': 'silver' } } });
  await t.rejects(create(asking), { code: status.FAILED_PRECONDITION, details: /RDT class "gold": RDT is not enabled/ });
  for (const name of ['', 'gold', 'silver']) {
    await mkdir(join(dir, 'sys/fs/resctrl', name), { recursive: true });
    await writeFile(join(dir, 'sys/fs/resctrl', name, 'schemata'), '');
  }
  t.same((await create(asking)).linux?.intelRdt, { closID: 'gold' });
  t.same((await create({ metadata: { name: 'app', attempt: 0 } })).linux?.intelRdt, { closID: 'silver' });
  t.equal((await create({})).linux?.intelRdt, undefined);
  await t.rejects(create({ annotations: { 'io.kubernetes.cri.rdt-class': 'bronze' } }), { code: status.FAILED_PRECONDITION, details: /"bronze" does not exist/ });
  const lenient = await start(t, { resources: { ignoreRdtNotEnabledErrors: true } });
  t.equal((await lenient.create(asking)).linux?.intelRdt, undefined);
});

test('block IO class by annotation of the container or pod', async (t) => {
  const dir = t.testdir();
  const disk = join(dir, 'disk');
  execFileSync('mknod', [disk, 'b', '8', '16']);
  const blockioConfigFile = join(dir, 'blockio.yaml');
  await writeFile(blockioConfigFile, `Classes: {slow: [{Weight: 50}, {Devices: ["${disk}"], ThrottleReadBps: 10M}]}`);
  const asking = { annotations: { 'io.kubernetes.cri.blockio-class': 'slow' } };
  const slow = { weight: 50, throttleReadBpsDevice: [{ major: 8, minor: 16, rate: 10_000_000 }] };
  const { create } = await start(t, { resources: { blockioConfigFile }, pod: { annotations: { 'blockio.resources.beta.kubernetes.io/pod': 'slow' } } });
  t.same((await create(asking)).linux?.resources?.blockIO, slow);
  t.same((await create({})).linux?.resources?.blockIO, slow);
  const none = await start(t);
  await t.rejects(none.create(asking), { code: status.FAILED_PRECONDITION, details: /block IO class "slow".*not enabled/ });
  const lenient = await start(t, { resources: { ignoreBlockioNotEnabledErrors: true } });
  t.equal((await lenient.create(asking)).linux?.resources?.blockIO, undefined);
});
