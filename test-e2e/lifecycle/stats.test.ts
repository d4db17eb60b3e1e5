import { access, readFile, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ContainerEventType, type ContainerEventResponse } from '@criquet/cri-api';
import { eventually } from '../harness/eventually.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { CALL, TestPod } from '../harness/pods.js';

const MIB = 1024n * 1024n;

await onEachEngine(
  'stats and events',
  async (t, node) => {
    const { runtime } = node.cri;
    const pod = await TestPod.run(node);
    const own = await TestPod.run(node, { linux: { cgroupParent: node.podCgroup('own') } });

    /** The containerd-shim of a pod. */
    const shimOf = async (podSandboxId: string) => {
      const { info } = await runtime.podSandboxStatus({ podSandboxId, verbose: true }, CALL);
      const { pid } = JSON.parse(info.info ?? '{}') as { pid: number };
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    };

    await t.test('T1: a busy loop uses one CPU, which is told from the second time on', async (t) => {
      const busy = await pod.start({
        command: ['sh', '-c', 'while :; do :; done'],
        linux: { resources: { cpuPeriod: 100_000n, cpuQuota: 50_000n } },
      });
      const { stats: first } = await runtime.containerStats({ containerId: busy.id }, CALL);
      t.equal(first?.cpu?.usageNanoCores, undefined);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      const { stats: second } = await runtime.containerStats({ containerId: busy.id }, CALL);
      const rate = Number(second?.cpu?.usageNanoCores?.value ?? 0n);
      // The quota makes it half a CPU, however busy the machine is; never more.
      t.ok(rate > 1e8 && rate < 6e8, `${rate}`);
      t.ok((second?.cpu?.usageCoreNanoSeconds?.value ?? 0n) > (first?.cpu?.usageCoreNanoSeconds?.value ?? 0n));
      await busy.remove();
    });

    await t.test('memory, layer and processes of a container; network and sum of its pod', async (t) => {
      const container = await own.start({
        command: ['sh', '-c', 'dd if=/dev/zero of=/big bs=1M count=3 2>/dev/null; dd if=/dev/zero of=/dev/shm/x bs=1M count=20 2>/dev/null; echo ready; sleep 3600 & wait'],
        linux: { resources: { memoryLimitInBytes: 64n * MIB } },
      });
      await eventually(async () => {
        if ((await container.log()).length === 0) throw new Error('not ready');
      });
      const { stats } = await runtime.containerStats({ containerId: container.id }, CALL);
      t.ok((stats?.memory?.workingSetBytes?.value ?? 0n) >= 20n * MIB);
      t.ok((stats?.memory?.workingSetBytes?.value ?? 0n) + (stats?.memory?.availableBytes?.value ?? 0n) === 64n * MIB);
      t.ok((stats?.writableLayer?.usedBytes?.value ?? 0n) >= 3n * MIB);
      const { stats: ofPod } = await runtime.podSandboxStats({ podSandboxId: own.id }, CALL);
      t.ok((ofPod?.linux?.memory?.usageBytes?.value ?? 0n) >= 20n * MIB);
      await eventually(async () => {
        const { stats: now } = await runtime.podSandboxStats({ podSandboxId: own.id }, CALL);
        const count = now?.linux?.process?.processCount?.value;
        if (count !== 3n) throw new Error(`${count} processes where pause, sh and sleep run`);
      });
      t.equal(ofPod?.linux?.network?.defaultInterface?.name, 'eth0');
      t.match(ofPod?.linux?.containers, [{ attributes: { id: container.id } }]);
      await container.remove();
    });

    await t.test('metrics: a value for every descriptor that this machine can tell', async (t) => {
      const container = await pod.start({ linux: { resources: { cpuPeriod: 100_000n, cpuQuota: 20_000n, memoryLimitInBytes: 64n * MIB } } });
      const { descriptors } = await runtime.listMetricDescriptors({}, CALL);
      const { podMetrics } = await runtime.listPodSandboxMetrics({}, CALL);
      const ofPod = podMetrics.find(({ podSandboxId }) => podSandboxId === pod.id);
      const found = new Set([...(ofPod?.metrics ?? []), ...(ofPod?.containerMetrics.flatMap(({ metrics }) => metrics) ?? [])].map(({ name }) => name));
      // Devices below an overlay count no I/O everywhere; huge pages and pressure depend on the kernel.
      const optional = new Set(['container_blkio_device_usage_total', 'container_fs_reads_bytes_total', 'container_fs_reads_total', 'container_fs_writes_bytes_total', 'container_fs_writes_total']);
      const pressure = (await there('/proc/pressure/cpu')) && ((await there('/sys/fs/cgroup/unified')) || (await there('/sys/fs/cgroup/cgroup.controllers')));
      const expected = descriptors
        .map(({ name }) => name)
        .filter((name) => !optional.has(name) && !name.startsWith('container_hugetlb') && (pressure || !name.startsWith('container_pressure')));
      t.same(expected.filter((name) => !found.has(name)), []);
      await container.remove();
    });

    await t.test('T1: lists go on while containers come and go and a shim is killed', async (t) => {
      const victim = await TestPod.run(node);
      await victim.start();
      let churning = true;
      let lists = 0;
      const listing = (async () => {
        while (churning) {
          await Promise.all([runtime.listContainerStats({}, CALL), runtime.listPodSandboxStats({}, CALL)]);
          lists += 1;
        }
      })();
      const churn = async (from: number) => {
        for (let index = from; index < 30; index += 3) {
          const container = await pod.start({ metadata: { name: `churn-${index}`, attempt: 0 } });
          if (index % 2 === 0) await container.stop();
          await container.remove();
          if (index === 12) process.kill(await shimOf(victim.id), 'SIGKILL');
        }
      };
      await Promise.all([churn(0), churn(1), churn(2)]);
      churning = false;
      await listing;
      t.ok(lists > 10, `${lists} times both lists`);
      await victim.remove();
    });

    await t.test('L7: a shim that hangs delays no list', async (t) => {
      const stuck = await TestPod.run(node);
      const container = await stuck.start();
      const shim = await shimOf(stuck.id);
      process.kill(shim, 'SIGSTOP');
      try {
        const began = Date.now();
        const [{ stats }, pods, { podMetrics }] = await Promise.all([
          runtime.listContainerStats({}, CALL),
          runtime.listPodSandboxStats({}, CALL),
          runtime.listPodSandboxMetrics({}, CALL),
        ]);
        t.ok(Date.now() - began < 2_500, `${Date.now() - began} ms`);
        t.ok((stats.find(({ attributes }) => attributes?.id === container.id)?.memory?.usageBytes?.value ?? 0n) > 0n);
        t.ok(pods.stats.some(({ attributes }) => attributes?.id === stuck.id));
        t.ok(podMetrics.some(({ podSandboxId }) => podSandboxId === stuck.id));
      } finally {
        process.kill(shim, 'SIGCONT');
      }
      await stuck.remove();
    });

    await t.test('T3: events of a pod in order, by a reader that is slow', async (t) => {
      const events: ContainerEventResponse[] = [];
      const ended = new AbortController();
      const reading = (async () => {
        for await (const event of runtime.getContainerEvents({}, { signal: ended.signal })) {
          events.push(event);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      })().catch(() => undefined);
      await runtime.version({}, CALL);
      const lived = await TestPod.run(node);
      const containers = await Promise.all(Array.from({ length: 5 }, () => lived.start({ command: ['true'] })));
      await Promise.all(containers.map((container) => container.exit()));
      for (const container of containers) await container.remove();
      await lived.remove();
      const life = [
        ContainerEventType.CONTAINER_CREATED_EVENT,
        ContainerEventType.CONTAINER_STARTED_EVENT,
        ContainerEventType.CONTAINER_STOPPED_EVENT,
        ContainerEventType.CONTAINER_DELETED_EVENT,
      ];
      await eventually(() => {
        if (events.filter(({ containerId }) => containerId === lived.id).length < life.length) throw new Error(`${events.length} events`);
      });
      for (const id of [lived.id, ...containers.map((container) => container.id)]) {
        t.same(events.filter((event) => event.containerId === id).map((event) => event.containerEventType), life);
      }
      ended.abort();
      await reading;
    });

    await Promise.all([pod.remove(), own.remove()]);
    await removeCgroups(node.podCgroup('own'));
  },
  { only: 'criquet', engines: 'newest' },
);

function there(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** What the kubelet does with the cgroup that it made for a pod: it goes in every hierarchy. */
async function removeCgroups(path: string): Promise<void> {
  const root = '/sys/fs/cgroup';
  for (const hierarchy of ['', ...(await readdir(root))]) await rmdir(join(root, hierarchy, path)).catch(() => undefined);
}
