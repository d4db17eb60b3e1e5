import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { writeTree } from '../stats/cgroup-fixture.js';
import { FixtureNode } from './node-fixture.js';
import { NAMESPACE, Shim } from './shim-harness.js';

const second = () => new Promise((resolve) => setTimeout(resolve, 1_050));

test('ContainerStats of a running container, and of one that does not run', async (t) => {
  const node = await FixtureNode.start(t);
  const { runtime } = node.shim.cri;
  const pod = await node.shim.runPod();
  const containerId = await node.shim.createContainer(pod, { labels: { a: 'b' }, annotations: { c: 'd' } });
  await node.cgroup(`${NAMESPACE}/${containerId}`);
  const { stats: created } = await runtime.containerStats({ containerId });
  t.match(created, { attributes: { id: containerId, metadata: { name: 'app' } }, cpu: undefined, memory: undefined, swap: undefined, io: undefined });
  const layer = await node.shim.otherClient().snapshots.usage('overlayfs', containerId);
  t.match(created?.writableLayer, { usedBytes: { value: layer.size }, inodesUsed: { value: layer.inodes } });
  t.match(created?.writableLayer?.fsId?.mountpoint, /overlayfs$/);
  await runtime.startContainer({ containerId });
  const { stats } = await runtime.containerStats({ containerId: containerId.slice(0, 12) });
  t.match(stats, {
    attributes: { id: containerId, metadata: { name: 'app', attempt: 0 }, labels: { a: 'b' }, annotations: { c: 'd' } },
    cpu: { usageCoreNanoSeconds: { value: 5_000_000_000n }, usageNanoCores: undefined, psi: { Some: { Total: 1_000_000n, Avg10: 1.5, Avg60: 0.25, Avg300: 0.05 }, Full: { Total: 10_000n } } },
    memory: {
      workingSetBytes: { value: 80_000_000n }, availableBytes: { value: 120_000_000n }, usageBytes: { value: 100_000_000n },
      rssBytes: { value: 60_000_000n }, pageFaults: { value: 900n }, majorPageFaults: { value: 9n }, psi: { Some: { Total: 2_000_000n } },
    },
    swap: { swapAvailableBytes: { value: 3_000_000n }, swapUsageBytes: { value: 1_000_000n } },
    io: { psi: { Some: { Total: 3_000_000n } } },
  });
  const now = BigInt(Date.now()) * 1_000_000n;
  for (const part of [stats?.cpu, stats?.memory, stats?.swap, stats?.io, stats?.writableLayer]) {
    t.ok(part !== undefined && now - part.timestamp < 10_000_000_000n);
  }
  await writeTree(node.root, { [`sys/fs/cgroup/${NAMESPACE}/${containerId}/cpu.stat`]: 'usage_usec 6000000\n' });
  await second();
  const { stats: later } = await runtime.containerStats({ containerId });
  const rate = later?.cpu?.usageNanoCores?.value ?? 0n;
  t.ok(rate > 500_000_000n && rate < 1_000_000_000n, `a second of CPU in a little more than a second: ${rate}`);
  await t.rejects(runtime.containerStats({ containerId: 'nope' }), { code: status.NOT_FOUND });
});

test('ListContainerStats and StreamContainerStats filter alike', async (t) => {
  const node = await FixtureNode.start(t);
  const { runtime } = node.shim.cri;
  const pod = await node.shim.runPod();
  const other = await node.shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  const first = await node.shim.startContainer(pod, { labels: { app: 'one' } });
  const second = await node.shim.createContainer(pod, { metadata: { name: 'second', attempt: 0 }, labels: { app: 'two' } });
  const third = await node.shim.startContainer(other, { metadata: { name: 'third', attempt: 0 }, logPath: '3.log', labels: { app: 'one' } });
  for (const [filter, expected] of [
    [undefined, [first, second, third]],
    [{ id: first.slice(0, 13) }, [first]],
    [{ podSandboxId: pod }, [first, second]],
    [{ labelSelector: { app: 'one' } }, [first, third]],
    [{ podSandboxId: pod, labelSelector: { app: 'one' } }, [first]],
    [{ id: 'none' }, []],
  ] as const) {
    const { stats } = await runtime.listContainerStats({ filter });
    t.same(stats.map(({ attributes }) => attributes?.id), expected);
    const streamed: string[] = [];
    for await (const { containerStats } of runtime.streamContainerStats({ filter })) {
      t.ok(containerStats.length > 0);
      streamed.push(...containerStats.map(({ attributes }) => attributes?.id ?? ''));
    }
    t.same(streamed, expected);
  }
});

test('T1: lists do not fail while what they list comes and goes, and ask no shim', async (t) => {
  const node = await FixtureNode.start(t);
  const { shim } = node;
  const { runtime } = shim.cri;
  const pod = await shim.runPod();
  const release = shim.containerd.control.hang('tasks.metrics');
  shim.containerd.control.fail('snapshots.usage');
  let lists = 0;
  let churning = true;
  const listing = (async () => {
    while (churning) {
      await Promise.all([runtime.listContainerStats({}), runtime.listPodSandboxStats({}), runtime.listPodSandboxMetrics({})]);
      lists += 1;
    }
  })();
  for (let round = 0; round < 10; round++) {
    const containerId = await shim.startContainer(pod, { metadata: { name: `app-${round}`, attempt: 0 }, logPath: `${round}.log` });
    await node.cgroup(`${NAMESPACE}/${containerId}`, round % 2 === 0 ? { 'memory.current': 'nonsense\n', 'cpu.stat': '' } : {});
    if (round === 5) shim.containerd.tasks.killShim(NAMESPACE, containerId);
    await runtime.removeContainer({ containerId });
  }
  churning = false;
  await listing;
  release();
  t.ok(lists > 3, `${lists} lists`);
  t.same(shim.containerd.control.requests('tasks.metrics'), []);
});

test('a containerd that does not measure layers holds a list up for two seconds at most', async (t) => {
  const node = await FixtureNode.start(t);
  const pod = await node.shim.runPod();
  const containerId = await node.shim.startContainer(pod);
  await node.cgroup(`${NAMESPACE}/${containerId}`);
  const release = node.shim.containerd.control.hang('snapshots.usage');
  const began = performance.now();
  const { stats } = await node.shim.cri.runtime.listContainerStats({});
  t.ok(performance.now() - began < 2_500);
  t.match(stats, [{ cpu: { usageCoreNanoSeconds: { value: 5_000_000_000n } }, writableLayer: undefined }]);
  release();
});

test('PodSandboxStats: the members together, the network, the processes and the containers', async (t) => {
  const node = await FixtureNode.start(t);
  const { runtime } = node.shim.cri;
  const pod = await node.shim.runPod({ annotations: { note: 'x' } });
  const first = await node.shim.startContainer(pod);
  const second = await node.shim.createContainer(pod, { metadata: { name: 'second', attempt: 0 } });
  for (const id of [pod, first, second]) await node.cgroup(`${NAMESPACE}/${id}`);
  await node.network(pod);
  const { stats } = await runtime.podSandboxStats({ podSandboxId: pod });
  t.match(stats, {
    attributes: { id: pod, metadata: { name: 'pod', uid: 'uid-1' }, labels: { 'io.kubernetes.pod.name': 'pod' }, annotations: { note: 'x' } },
    linux: {
      cpu: { usageCoreNanoSeconds: { value: 10_000_000_000n } },
      memory: { usageBytes: { value: 200_000_000n }, workingSetBytes: { value: 160_000_000n } },
      process: { processCount: { value: 4n } },
      network: {
        defaultInterface: { name: 'eth0', rxBytes: { value: 1000n }, rxErrors: { value: 1n }, txBytes: { value: 2000n }, txErrors: { value: 3n } },
        interfaces: [{ name: 'eth0' }, { name: 'net1' }],
      },
    },
    windows: undefined,
  });
  const now = BigInt(Date.now()) * 1_000_000n;
  for (const part of [stats?.linux?.cpu, stats?.linux?.memory, stats?.linux?.network, stats?.linux?.process]) {
    t.ok(part !== undefined && now - part.timestamp < 10_000_000_000n);
  }
  t.match(stats?.linux?.containers, [{ attributes: { id: first } }, { attributes: { id: second }, cpu: undefined }]);
  await t.rejects(runtime.podSandboxStats({ podSandboxId: 'nope' }), { code: status.NOT_FOUND });
});

test('a cgroup parent of the pod\'s own is the pod\'s usage; one that pods share is not', async (t) => {
  const node = await FixtureNode.start(t);
  const { runtime } = node.shim.cri;
  const pod = await node.shim.runPod({ linux: { cgroupParent: '/kubepods/pod-1' } });
  await node.cgroup('kubepods/pod-1', { 'memory.current': '123000000\n' });
  await node.cgroup(`kubepods/pod-1/${pod}`, { 'memory.current': '1000000\n' });
  const usage = async () => (await runtime.podSandboxStats({ podSandboxId: pod })).stats?.linux;
  t.equal((await usage())?.memory?.usageBytes?.value, 123_000_000n);
  t.equal((await usage())?.process?.processCount?.value, 4n, 'those below it too');
  t.match((await usage())?.io, { psi: { Some: { Total: 3_000_000n } } });
  await node.shim.runPod({ linux: { cgroupParent: '/kubepods/pod-1' }, metadata: { name: 'again', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  t.equal((await usage())?.memory?.usageBytes?.value, 1_000_000n);
});

test('ListPodSandboxStats and StreamPodSandboxStats: ready pods, filtered alike; the node\'s network is not the pod\'s', async (t) => {
  const node = await FixtureNode.start(t);
  const { runtime } = node.shim.cri;
  const metadata = (name: string) => ({ name, namespace: 'ns', uid: name, attempt: 0 });
  const first = await node.shim.runPod({ metadata: metadata('a'), labels: { app: 'one' } });
  const host = await node.shim.runPod({ metadata: metadata('b'), linux: { securityContext: { namespaceOptions: { network: 2 } } } });
  const stopped = await node.shim.runPod({ metadata: metadata('c') });
  await runtime.stopPodSandbox({ podSandboxId: stopped });
  for (const id of [first, host]) await node.network(id);
  for (const [filter, expected] of [
    [undefined, [first, host]],
    [{ id: first.slice(0, 13) }, [first]],
    [{ labelSelector: { app: 'one' } }, [first]],
    [{ id: host, labelSelector: { app: 'one' } }, []],
  ] as const) {
    const { stats } = await runtime.listPodSandboxStats({ filter });
    t.same(stats.map(({ attributes }) => attributes?.id), expected);
    const streamed: string[] = [];
    for await (const reply of runtime.streamPodSandboxStats({ filter })) streamed.push(...reply.podSandboxStats.map(({ attributes }) => attributes?.id ?? ''));
    t.same(streamed, expected);
  }
  const { stats } = await runtime.listPodSandboxStats({});
  t.equal(stats[0]?.linux?.network?.interfaces.length, 2);
  t.equal(stats[1]?.linux?.network, undefined);
  t.match((await runtime.podSandboxStats({ podSandboxId: stopped })).stats, { attributes: { id: stopped }, linux: { cpu: undefined, network: undefined } });
});

test('the other Stream calls give what the lists give, in messages of about a megabyte', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime, image } = shim.cri;
  const pod = await shim.runPod();
  const annotations = { big: 'x'.repeat(200_000) };
  for (let index = 0; index < 12; index++) await shim.createContainer(pod, { metadata: { name: `c${index}`, attempt: 0 }, annotations });
  const { containers } = await runtime.listContainers({});
  const batches = [];
  for await (const reply of runtime.streamContainers({})) batches.push(reply.containers);
  t.same(batches.flat(), containers);
  t.same(batches.map((batch) => batch.length), [5, 5, 2]);
  const found = [];
  for await (const reply of runtime.streamContainers({ filter: { id: containers[3]?.id ?? '' } })) found.push(...reply.containers);
  t.same(found, [containers[3]]);
  const pods = [];
  for await (const reply of runtime.streamPodSandboxes({})) pods.push(...reply.podSandboxes);
  t.same(pods, (await runtime.listPodSandbox({})).items);
  const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  const filtered = [];
  for await (const reply of runtime.streamPodSandboxes({ filter: { id: other } })) filtered.push(...reply.podSandboxes.map(({ id }) => id));
  t.same(filtered, [other]);
  const images = [];
  for await (const reply of image.streamImages({})) images.push(...reply.images);
  t.same(images, (await image.listImages({})).images);
  t.ok(images.length > 0);
  for await (const reply of image.streamImages({ filter: { image: { image: 'none' } } })) t.fail(`an empty list has no message: ${reply.images.length}`);
});
