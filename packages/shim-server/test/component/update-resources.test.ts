import { status } from '@grpc/grpc-js';
import type { DeepPartial, LinuxContainerResources } from '@criquet/cri-api';
import { decodeSpec, type LinuxResources } from '@criquet/runtime-containerd';
import { test, type Test } from 'tap';
import { about, eventually, NAMESPACE, Shim } from './shim-harness.js';

const MIB = 1024n * 1024n;
const FIRST = { cpuPeriod: 100_000n, cpuQuota: 20_000n, cpuShares: 512n, memoryLimitInBytes: 64n * MIB };
const FIRST_OCI = { cpu: { period: 100_000, quota: 20_000, shares: 512 }, memory: { limit: Number(64n * MIB), swap: Number(64n * MIB) } };

async function start(t: Test): Promise<{ shim: Shim; pod: string }> {
  const shim = await Shim.start({ node: { nodeFacts: { cgroup: 'v2', swapAccounting: true } } });
  t.teardown(() => shim.close());
  return { shim, pod: await shim.runPod() };
}

const config = { linux: { resources: FIRST } };

/** Spec, status and what the task was told last. */
async function seen(shim: Shim, containerId: string) {
  const record = shim.containerd.state(NAMESPACE).containers.get(containerId);
  const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
  const { cpu, memory } = decodeSpec(record?.spec as never).linux?.resources ?? {};
  return {
    spec: { cpu, memory },
    status: container?.resources?.linux,
    task: shim.containerd.state(NAMESPACE).tasks.get(containerId)?.resources,
  };
}

const update = (shim: Shim, containerId: string, linux: DeepPartial<LinuxContainerResources>, timeoutMs = 10_000) =>
  shim.cri.runtime.updateContainerResources({ containerId, linux }, { timeoutMs });

test('R2: created, running, exited: spec, cgroup and status agree', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.createContainer(pod, config);
  await update(shim, containerId, { cpuQuota: 30_000n });
  t.match(await seen(shim, containerId), {
    spec: { ...FIRST_OCI, cpu: { period: 100_000, quota: 30_000, shares: 512 } },
    status: { ...FIRST, cpuQuota: 30_000n },
    task: undefined,
  });
  await shim.cri.runtime.startContainer({ containerId });
  await update(shim, containerId, { memoryLimitInBytes: 128n * MIB, cpuQuota: -1n });
  const resized = {
    cpu: { period: 100_000, quota: -1, shares: 512 },
    memory: { limit: Number(128n * MIB), swap: Number(128n * MIB) },
  };
  const running = await seen(shim, containerId);
  t.match(running, { spec: resized, status: { ...FIRST, memoryLimitInBytes: 128n * MIB, cpuQuota: -1n }, task: resized });
  t.equal((running.task as LinuxResources).memory?.checkBeforeUpdate, true, 'v2 kills for a limit below usage unless told to look first');
  t.equal(running.spec.memory?.checkBeforeUpdate, undefined);
  shim.containerd.process(NAMESPACE, containerId).exit(0);
  await eventually(async () => {
    if ((await shim.cri.runtime.containerStatus({ containerId })).status?.state !== 2) throw new Error('runs');
  });
  await update(shim, containerId, { cpuShares: 1024n });
  t.match(await seen(shim, containerId), { spec: { cpu: { shares: 1024 } }, status: { cpuShares: 1024n } });
});

test('R2: an error of the runtime leaves the old values, in the cgroup too', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.startContainer(pod, config);
  shim.containerd.control.fail('tasks.update', { details: 'limit below usage', times: 1 });
  await t.rejects(update(shim, containerId, { memoryLimitInBytes: 4n * MIB, cpusetCpus: '0' }), /update the cgroup: .*limit below usage/);
  t.match(await seen(shim, containerId), { spec: FIRST_OCI, status: FIRST, task: FIRST_OCI });
  await update(shim, containerId, { memoryLimitInBytes: 32n * MIB });
  t.match((await seen(shim, containerId)).status, { memoryLimitInBytes: 32n * MIB });
});

for (const afterwards of [false, true]) {
  test(`R2: an error while writing ${afterwards ? '(done, the answer lost) ' : ''}leaves the old values everywhere`, async (t) => {
    const { shim, pod } = await start(t);
    const containerId = await shim.startContainer(pod, config);
    const writesSpec = (call: { request: unknown }) => (call.request as { updateMask?: string[] }).updateMask?.includes('spec') === true;
    shim.containerd.control.fail('containers.update', { code: status.UNAVAILABLE, times: 1, when: writesSpec, afterwards });
    await t.rejects(update(shim, containerId, { cpuShares: 2048n }), { code: status.UNAVAILABLE });
    t.match(await seen(shim, containerId), { spec: FIRST_OCI, status: FIRST, task: FIRST_OCI });
    await shim.restart();
    t.match(await seen(shim, containerId), { spec: FIRST_OCI, status: FIRST });
  });
}

test('R2: limits that were not there become unlimited again when an update fails', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.startContainer(pod);
  shim.failpoints.fail('UpdateContainerResources/write the spec and the record');
  await t.rejects(update(shim, containerId, { cpuQuota: 5_000n, memoryLimitInBytes: 8n * MIB }), { code: status.INTERNAL });
  const { task, status: resources } = await seen(shim, containerId);
  t.match(task, { cpu: { quota: -1 }, memory: { limit: -1, swap: -1 } });
  t.equal(resources, undefined);
});

test('R5: swap less than memory is rejected, and nothing changes', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.startContainer(pod, config);
  await t.rejects(update(shim, containerId, { memorySwapLimitInBytes: 32n * MIB }), {
    code: status.INVALID_ARGUMENT,
    details: /^linux\.memory_swap_limit_in_bytes: /,
  });
  t.match(await seen(shim, containerId), { spec: FIRST_OCI, status: FIRST, task: undefined });
  await update(shim, containerId, { memorySwapLimitInBytes: 128n * MIB });
  t.match(await seen(shim, containerId), {
    spec: { memory: { limit: Number(64n * MIB), swap: Number(128n * MIB) } },
    task: { memory: { swap: Number(128n * MIB) } },
  });
});

test('a runtime that does not answer holds up its own call only', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.startContainer(pod, config);
  const other = await shim.startContainer(pod, { ...config, metadata: { name: 'other', attempt: 0 }, logPath: 'other.log' });
  const release = shim.containerd.control.hang('tasks.update', about(containerId));
  await t.rejects(update(shim, containerId, { cpuShares: 4n }, 300), { code: status.DEADLINE_EXCEEDED });
  await update(shim, other, { cpuShares: 8n });
  t.match((await seen(shim, other)).status, { cpuShares: 8n });
  release();
  // It goes on by itself, and then all agree.
  await eventually(async () => {
    if ((await seen(shim, containerId)).status?.cpuShares !== 4n) throw new Error('not yet');
  });
  t.match(await seen(shim, containerId), { spec: { cpu: { shares: 4 } }, task: { cpu: { shares: 4 } } });
});

test('annotations reach the runtime; unknown containers and Windows values are refused', async (t) => {
  const { shim, pod } = await start(t);
  const containerId = await shim.startContainer(pod);
  await shim.cri.runtime.updateContainerResources({ containerId, linux: { cpuShares: 5n }, annotations: { a: 'b' } });
  t.match(shim.containerd.control.requests('tasks.update'), [{ annotations: { a: 'b' } }]);
  await shim.cri.runtime.updateContainerResources({ containerId });
  await t.rejects(update(shim, 'nope', { cpuShares: 5n }), { code: status.NOT_FOUND });
  await t.rejects(shim.cri.runtime.updateContainerResources({ containerId, windows: {} }), { code: status.INVALID_ARGUMENT });
});

test('UpdatePodSandboxResources goes into the pod\'s configuration, also across a restart', async (t) => {
  const { shim, pod } = await start(t);
  await shim.cri.runtime.updatePodSandboxResources({ podSandboxId: pod, resources: { cpuShares: 7n }, overhead: { memoryLimitInBytes: 9n } });
  await shim.cri.runtime.updatePodSandboxResources({ podSandboxId: pod, resources: { cpuShares: 8n } });
  await shim.restart();
  const { info } = await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod, verbose: true });
  const { config: stored } = JSON.parse(info.info ?? '{}') as { config: { linux: unknown } };
  t.match(stored.linux, { resources: { cpu_shares: 8 }, overhead: { memory_limit_in_bytes: 9 } });
  await t.rejects(shim.cri.runtime.updatePodSandboxResources({ podSandboxId: 'nope' }), { code: status.NOT_FOUND });
});
