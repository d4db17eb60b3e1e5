import type { DeepPartial, LinuxContainerResources } from '@criquet/cri-api';
import { status as code } from '@grpc/grpc-js';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod, type TestContainer } from '../harness/pods.js';

const MIB = 1024n * 1024n;
const FIRST = { cpuPeriod: 100_000n, cpuQuota: 50_000n, cpuShares: 512n, memoryLimitInBytes: 64n * MIB };
const UNLIMITED = 2n ** 62n;

/** Memory limit and CPU quota as the kernel has them; a limit from `UNLIMITED` on, and a quota of -1, are none. */
async function kernel(container: TestContainer): Promise<{ memory: bigint; quota: bigint }> {
  const script =
    'cd /sys/fs/cgroup; if [ -e cgroup.controllers ]; then cat memory.max; cut -d" " -f1 cpu.max; ' +
    'else cat memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us; fi';
  const { stdout } = await container.exec(['sh', '-c', script]);
  const [memory = '', quota = ''] = stdout.trim().split('\n');
  return { memory: memory === 'max' ? UNLIMITED : BigInt(memory), quota: quota === 'max' ? -1n : BigInt(quota) };
}

await onEachEngine('update of resources', async (t, node) => {
  const { runtime } = node.cri;
  const pod = await TestPod.run(node);
  const update = (container: TestContainer, linux: DeepPartial<LinuxContainerResources>) =>
    runtime.updateContainerResources({ containerId: container.id, linux }, CALL);
  const resources = async (container: TestContainer) => (await container.status()).resources?.linux;

  await t.test('R2: a created container starts with the new values, a running one has them at once', async (t) => {
    const container = await pod.create({ linux: { resources: FIRST } });
    await update(container, { memoryLimitInBytes: 96n * MIB });
    await runtime.startContainer({ containerId: container.id }, CALL);
    t.same(await kernel(container), { memory: 96n * MIB, quota: 50_000n });
    t.match(await resources(container), { memoryLimitInBytes: 96n * MIB, cpuQuota: 50_000n });
    await update(container, { memoryLimitInBytes: 128n * MIB, cpuQuota: 20_000n });
    t.same(await kernel(container), { memory: 128n * MIB, quota: 20_000n });
    t.match(await resources(container), { memoryLimitInBytes: 128n * MIB, cpuQuota: 20_000n });
    await update(container, { memoryLimitInBytes: 48n * MIB, cpuQuota: -1n });
    t.same(await kernel(container), { memory: 48n * MIB, quota: -1n });
    t.match(await resources(container), { memoryLimitInBytes: 48n * MIB, cpuQuota: -1n });
    await update(container, { memoryLimitInBytes: -1n });
    t.ok((await kernel(container)).memory >= UNLIMITED);
    t.match(await resources(container), { memoryLimitInBytes: -1n });
    await container.stop();
    await update(container, { cpuShares: 1024n });
    t.match(await resources(container), { cpuShares: 1024n });
    await container.remove();
  });

  await t.test('R2: a limit below what is in use is refused and leaves the old values', async (t) => {
    const container = await pod.start({
      command: ['sh', '-c', 'dd if=/dev/zero of=/dev/shm/x bs=1M count=40 2>/dev/null; echo ready; sleep 3600'],
      linux: { resources: FIRST },
    });
    await eventually(async () => {
      if ((await container.log()).length === 0) throw new Error('not ready');
    });
    await t.rejects(update(container, { memoryLimitInBytes: 8n * MIB, cpuQuota: 30_000n }));
    t.same(await kernel(container), { memory: 64n * MIB, quota: 50_000n });
    t.match(await resources(container), FIRST);
    t.match(await container.exec(['echo', 'alive']), { stdout: 'alive\n' });
    await container.remove();
  });

  await t.test('R5: a swap limit below the memory limit is refused', async (t) => {
    const container = await pod.start({ linux: { resources: FIRST } });
    await t.rejects(update(container, { memorySwapLimitInBytes: 32n * MIB }), { code: code.INVALID_ARGUMENT });
    t.match(await resources(container), FIRST);
    await update(container, { memorySwapLimitInBytes: 128n * MIB });
    await update(container, { memoryLimitInBytes: 32n * MIB });
    t.match(await resources(container), { memoryLimitInBytes: 32n * MIB, memorySwapLimitInBytes: 96n * MIB });
    await container.remove();
  });

  await t.test('the pod takes its new resources', async (t) => {
    await runtime.updatePodSandboxResources({ podSandboxId: pod.id, resources: { cpuShares: 77n } }, CALL);
    const { info } = await runtime.podSandboxStatus({ podSandboxId: pod.id, verbose: true }, CALL);
    t.match(JSON.parse(info.info ?? '{}'), { config: { linux: { resources: { cpu_shares: 77 } } } });
  });

  await pod.remove();
}, { only: 'criquet', engines: 'newest' });
