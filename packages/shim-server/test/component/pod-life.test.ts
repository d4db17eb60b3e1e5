import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { status } from '@grpc/grpc-js';
import { NamespaceMode, Protocol } from '@criquet/cri-api';
import { decodeSpec } from '@criquet/runtime-containerd';
import { attaching, type FakePluginCall } from '@criquet/network-cni/testing';
import { test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

const UNKNOWN = 'f'.repeat(64);

async function notReady(shim: Shim, podSandboxId: string): Promise<void> {
  await eventually(async () => {
    const { status: sandbox } = await shim.cri.runtime.podSandboxStatus({ podSandboxId });
    if (sandbox?.state !== 1) throw new Error('still ready');
  });
}

test('a pod from RunPodSandbox to RemovePodSandbox', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  const before = BigInt(Date.now()) * 1_000_000n;
  const pod = await shim.runPod({ annotations: { note: 'x' } });
  t.match(pod, /^[0-9a-f]{64}$/);
  const { status: ready } = await runtime.podSandboxStatus({ podSandboxId: pod });
  t.match(ready, {
    id: pod,
    state: 0,
    metadata: { name: 'pod', namespace: 'ns', uid: 'uid-1', attempt: 0 },
    network: { ip: '10.1.0.7', additionalIps: [{ ip: 'fd00::7' }] },
    labels: { 'io.kubernetes.pod.name': 'pod' },
    annotations: { note: 'x' },
    runtimeHandler: '',
  });
  t.ok((ready?.createdAt ?? 0n) >= before && (ready?.createdAt ?? 0n) <= BigInt(Date.now()) * 1_000_000n, 'nanoseconds of now');
  t.match((await runtime.listPodSandbox({})).items, [{ id: pod, state: 0, createdAt: ready?.createdAt }]);

  await runtime.stopPodSandbox({ podSandboxId: pod });
  const { status: stopped } = await runtime.podSandboxStatus({ podSandboxId: pod });
  t.match(stopped, { state: 1, network: { ip: '', additionalIps: [] } }, 'its address may be another pod\'s by now');
  const dels = () => shim.plugins.calls.filter(({ command }) => command === 'DEL').length;
  t.equal(dels(), 1);
  await runtime.stopPodSandbox({ podSandboxId: pod });
  t.equal(dels(), 1, 'stopping it again detaches nothing');
  await runtime.removePodSandbox({ podSandboxId: pod });
  t.same((await runtime.listPodSandbox({})).items, []);
  await t.rejects(runtime.podSandboxStatus({ podSandboxId: pod }), { code: status.NOT_FOUND });
  await runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('L6 RemovePodSandbox on a ready one, RemoveContainer on a running one', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const first = await shim.startContainer(pod);
  await shim.startContainer(pod, { metadata: { name: 'second', attempt: 0 } });
  await shim.cri.runtime.removeContainer({ containerId: first });
  t.equal((await shim.cri.runtime.listContainers({})).containers.length, 1);
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('the record stands in containerd before the first effect, with labels, kind, spec and runtime', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ labels: { 'io.kubernetes.pod.uid': 'uid-1' } });
  const container = await shim.createContainer(pod, { labels: { 'io.kubernetes.container.name': 'app' } });
  const effects = shim.containerd.control.calls
    .map(({ name }) => name)
    .filter((name) => /^(containers\.(create|update)|tasks\.create|snapshots\.prepare)$/.test(name));
  t.same(effects, [
    'containers.create', 'tasks.create', 'containers.update', // the sandbox
    'containers.create', 'snapshots.prepare', 'containers.update', // the container
  ]);
  const [sandboxRecord, containerRecord] = shim.containerd.control
    .requests('containers.create')
    .map((request) => (request as { container: { id: string; labels: object; runtime: { name: string }; spec: never; extensions: object } }).container);
  t.match(sandboxRecord, {
    id: pod,
    labels: { 'io.kubernetes.pod.uid': 'uid-1', 'io.cri-containerd.kind': 'sandbox' },
    runtime: { name: 'io.containerd.runc.v2' },
  });
  t.same(Object.keys(sandboxRecord?.extensions ?? {}), ['criquet.sandbox']);
  t.match(containerRecord, {
    id: container,
    labels: { 'io.kubernetes.container.name': 'app', 'io.cri-containerd.kind': 'container' },
    runtime: { name: 'io.containerd.runc.v2' },
  });
  const spec = decodeSpec(sandboxRecord?.spec as never);
  t.match(spec.annotations, { 'io.kubernetes.cri.container-type': 'sandbox', 'io.kubernetes.cri.sandbox-id': pod });
  t.match(decodeSpec(containerRecord?.spec as never).annotations, { 'io.kubernetes.cri.container-type': 'container', 'io.kubernetes.cri.sandbox-id': pod });
  const netns = spec.linux?.namespaces?.find(({ type }) => type === 'network')?.path ?? '';
  t.ok(shim.netns.pins.has(netns), 'its network namespace is the pinned one');
});

test('a label over 4096 bytes is kept out of containerd and filters all the same', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const big = 'x'.repeat(5000);
  const pod = await shim.runPod({ labels: { big, small: '1' } });
  await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2' } });
  t.same(shim.containerd.state(NAMESPACE).containers.get(pod)?.labels, { small: '1', 'io.cri-containerd.kind': 'sandbox' });
  const found = async () => (await shim.cri.runtime.listPodSandbox({ filter: { labelSelector: { big } } })).items.map(({ id }) => id);
  t.same(await found(), [pod]);
  await shim.restart();
  t.same(await found(), [pod]);
});

test('ListPodSandbox and ListContainers: every filter, alone and together', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  const one = await shim.runPod({ labels: { tier: 'a' } });
  const two = await shim.runPod({ metadata: { name: 'two', namespace: 'ns', uid: 'uid-2' }, labels: { tier: 'b' } });
  await runtime.stopPodSandbox({ podSandboxId: two });
  const pods = async (filter: object) => (await runtime.listPodSandbox({ filter })).items.map(({ id }) => id);
  t.same(await pods({}), [one, two], 'in the order they were created');
  t.same(await pods({ id: one }), [one]);
  t.same(await pods({ id: one.slice(0, 13) }), [one], 'by the beginning of an id');
  t.same(await pods({ state: { state: 0 } }), [one]);
  t.same(await pods({ state: { state: 1 } }), [two]);
  t.same(await pods({ labelSelector: { tier: 'b' } }), [two]);
  t.same(await pods({ labelSelector: { tier: 'b' }, state: { state: 0 } }), []);
  t.same(await pods({ id: UNKNOWN }), []);

  const created = await shim.createContainer(one, { labels: { role: 'x' } });
  const running = await shim.startContainer(one, { metadata: { name: 'running', attempt: 0 } });
  const containers = async (filter: object) => (await runtime.listContainers({ filter })).containers.map(({ id }) => id);
  t.same(await containers({}), [created, running]);
  t.same(await containers({ id: created.slice(0, 13) }), [created]);
  t.same(await containers({ state: { state: 0 } }), [created]);
  t.same(await containers({ state: { state: 1 } }), [running]);
  t.same(await containers({ podSandboxId: one }), [created, running]);
  t.same(await containers({ podSandboxId: two }), []);
  t.same(await containers({ labelSelector: { role: 'x' } }), [created]);
});

test('what CNI is told: args, port mappings, bandwidth, DNS, by the capabilities a plugin names', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.writeNetwork([{ type: 'net', capabilities: { portMappings: true, bandwidth: true, dns: true } }]);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const pod = await shim.runPod({
    portMappings: [
      { protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '127.0.0.1' },
      { protocol: Protocol.UDP, containerPort: 53, hostPort: 5353 },
      { protocol: Protocol.TCP, containerPort: 81, hostPort: 0 },
    ],
    annotations: { 'kubernetes.io/ingress-bandwidth': '1M', 'kubernetes.io/egress-bandwidth': '2M' },
    dnsConfig: { servers: ['1.2.3.4'], searches: ['x.test'], options: ['ndots:5'] },
  });
  const [add] = shim.plugins.calls as [FakePluginCall];
  t.match(add, { command: 'ADD', containerId: pod, ifName: 'eth0' });
  t.ok(shim.netns.pins.has(add.netns));
  t.same(new Set(add.args.split(';')), new Set([
    'IgnoreUnknown=1', 'K8S_POD_NAMESPACE=ns', 'K8S_POD_NAME=pod', 'K8S_POD_UID=uid-1', `K8S_POD_INFRA_CONTAINER_ID=${pod}`,
  ]));
  const { portMappings, bandwidth, dns } = add.config.runtimeConfig as Record<string, unknown>;
  t.match(portMappings, [
    { hostPort: 8080, containerPort: 80, protocol: 'tcp', hostIP: '127.0.0.1' },
    { hostPort: 5353, containerPort: 53, protocol: 'udp' },
  ]);
  t.equal((portMappings as unknown[]).length, 2, 'host port 0 maps nothing');
  t.match(bandwidth, { ingressRate: 1_000_000, egressRate: 2_000_000 });
  t.match(dns, { servers: ['1.2.3.4'], searches: ['x.test'], options: ['ndots:5'] });

  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  const del = shim.plugins.calls.at(-1);
  t.match(del, { command: 'DEL', containerId: pod, netns: add.netns, args: add.args, config: { runtimeConfig: { portMappings } } });
});

test('a plugin that names no capability is told nothing of ports', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.runPod({ portMappings: [{ protocol: Protocol.TCP, containerPort: 80, hostPort: 8080 }] });
  t.equal(shim.plugins.calls[0]?.config.runtimeConfig, undefined);
});

for (const addresses of [['10.1.0.7/24', 'fd00::7/64'], ['fd00::7/64', '10.1.0.7/24'], ['fd00::8/64', 'fd00::7/64'], ['10.1.0.9/24', '10.1.0.8/24']]) {
  test(`N6 addresses ${addresses.join(', ')}: IPv4 before IPv6, else as the plugin gave them, the same after a restart`, async (t) => {
    const shim = await Shim.start({ plugins: { net: attaching(...addresses) } });
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    const plain = addresses.map((address) => address.replace(/\/\d+$/, ''));
    const [ip = '', second = ''] = plain[0]?.includes(':') && !plain[1]?.includes(':') ? plain.reverse() : plain;
    const network = async () => (await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.network;
    t.match(await network(), { ip, additionalIps: [{ ip: second }] });
    await shim.restart();
    t.match(await network(), { ip, additionalIps: [{ ip: second }] });
  });
}

test('a pod on the host\'s network: no namespace, no plugin, also without any CNI configuration', async (t) => {
  const shim = await Shim.start({ network: false });
  t.teardown(() => shim.close());
  const pod = await shim.runPod({
    hostname: 'foo',
    linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } },
  });
  t.equal(shim.netns.pins.size, 0);
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status, { state: 0, network: { ip: '', additionalIps: [] } });
  const record = shim.containerd.state(NAMESPACE).containers.get(pod);
  const spec = decodeSpec(record?.spec as never);
  t.notOk(spec.linux?.namespaces?.some(({ type }) => type === 'network'), 'N8: it has no network namespace');
  t.notOk(spec.linux?.namespaces?.some(({ type }) => type === 'uts'), 'N8: nor one for host names');
  t.equal(spec.hostname, undefined, 'N8: so its host name is never set');
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(shim.plugins.order(), []);
  t.same(await shim.leftovers(), []);
});

test('L2 the pause process dies: NOTREADY; calls on it fail; stop and remove work', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  const pod = await shim.runPod();
  const container = await shim.createContainer(pod);
  shim.containerd.tasks.killShim(NAMESPACE, pod);
  await notReady(shim, pod);
  await t.rejects(shim.createContainer(pod, { metadata: { name: 'next', attempt: 0 } }), { code: status.FAILED_PRECONDITION, details: /not ready/ });
  await t.rejects(runtime.startContainer({ containerId: container }), { code: status.FAILED_PRECONDITION, details: /not ready/ });
  t.equal((await runtime.podSandboxStatus({ podSandboxId: pod })).status?.network?.ip, '10.1.0.7', 'the address is still its own');
  await runtime.stopPodSandbox({ podSandboxId: pod });
  await runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a pod whose pause process has ended is removed whole without a stop, on the host\'s network too', async (t) => {
  for (const network of [NamespaceMode.POD, NamespaceMode.NODE]) {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod({ linux: { securityContext: { namespaceOptions: { network } } } });
    shim.containerd.process(NAMESPACE, pod).exit(0);
    await notReady(shim, pod);
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    t.same(await shim.leftovers(), []);
  }
});

test('20 parallel stops and removals of one pod all succeed', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.startContainer(pod);
  const calls = Array.from({ length: 20 }, (_, index) =>
    index % 3 === 0 ? shim.cri.runtime.stopPodSandbox({ podSandboxId: pod }) : shim.cri.runtime.removePodSandbox({ podSandboxId: pod }),
  );
  t.same((await Promise.allSettled(calls)).filter(({ status: outcome }) => outcome === 'rejected'), []);
  t.same(await shim.leftovers(), []);
});

test('L8 unknown ids', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime, image } = shim.cri;
  for (const id of [UNKNOWN, 'nothing']) {
    await runtime.stopPodSandbox({ podSandboxId: id });
    await runtime.removePodSandbox({ podSandboxId: id });
    await runtime.stopContainer({ containerId: id });
    await runtime.removeContainer({ containerId: id });
    const unknown = { code: status.NOT_FOUND, details: new RegExp(id) };
    await t.rejects(runtime.podSandboxStatus({ podSandboxId: id }), unknown);
    await t.rejects(runtime.containerStatus({ containerId: id }), unknown);
    await t.rejects(runtime.startContainer({ containerId: id }), unknown);
    await t.rejects(runtime.execSync({ containerId: id, cmd: ['x'] }), unknown);
    await t.rejects(runtime.reopenContainerLog({ containerId: id }), unknown);
    await t.rejects(shim.createContainer(id), unknown);
  }
  t.equal((await image.imageStatus({ image: { image: 'registry.test/nothing:1' } })).image, undefined);
  await image.removeImage({ image: { image: 'registry.test/nothing:1' } });
  t.same(await shim.leftovers(), []);
});

test('ids may be given by their beginning, as long as it is unambiguous', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  t.equal((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod.slice(0, 13) })).status?.id, pod);
  const container = await shim.startContainer(pod.slice(0, 13));
  await shim.cri.runtime.stopContainer({ containerId: container.slice(0, 13) });
  t.equal((await shim.cri.runtime.containerStatus({ containerId: container.slice(0, 13) })).status?.state, 2);
});

test('the files of a pod are there while it lives', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ hostname: 'web', dnsConfig: { servers: ['9.9.9.9'], searches: ['a.test'], options: ['ndots:2'] } });
  const container = await shim.createContainer(pod);
  const spec = decodeSpec(shim.containerd.state(NAMESPACE).containers.get(container)?.spec as never);
  const source = (destination: string) => spec.mounts?.find((mount) => mount.destination === destination)?.source ?? '';
  t.equal(await readFile(source('/etc/hostname'), 'utf8'), 'web\n');
  t.match(await readFile(source('/etc/resolv.conf'), 'utf8'), /search a\.test\nnameserver 9\.9\.9\.9\noptions ndots:2/);
  t.match(await readFile(source('/etc/hosts'), 'utf8'), /localhost/);
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  const shm = mounts.split('\n').find((line) => line.split(' ')[4] === source('/dev/shm')) ?? '';
  t.match(shm, /nosuid,nodev,noexec.* - tmpfs shm rw,size=65536k/, 'R6: 64 MiB of shared memory');
});

test('a pod with the host\'s IPC has the host\'s shared memory, and mounts nothing', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ linux: { securityContext: { namespaceOptions: { ipc: NamespaceMode.NODE } } } });
  const container = await shim.createContainer(pod);
  const { mounts } = decodeSpec(shim.containerd.state(NAMESPACE).containers.get(container)?.spec as never);
  t.equal(mounts?.find(({ destination }) => destination === '/dev/shm')?.source, '/dev/shm');
  t.same((await shim.leftovers()).filter((line) => line.startsWith('mount')), []);
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('verbose status: what crictl inspectp and inspect show', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const container = await shim.startContainer(pod);
  const sandboxInfo = JSON.parse((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod, verbose: true })).info.info ?? '') as Record<string, unknown>;
  t.match(sandboxInfo, { runtimeHandler: 'runc', runtimeType: 'io.containerd.runc.v2', netNamespacePath: join(shim.dir, 'netns', `criquet-${pod}`) });
  t.ok((sandboxInfo.pid as number) > 0);
  t.match(sandboxInfo.runtimeSpec, { annotations: { 'io.kubernetes.cri.sandbox-id': pod } });
  const info = JSON.parse((await shim.cri.runtime.containerStatus({ containerId: container, verbose: true })).info.info ?? '') as Record<string, unknown>;
  t.match(info, { sandboxID: pod, snapshotter: 'overlayfs', snapshotKey: container, runtimeSpec: { process: { args: ['/app'] } } });
  t.same((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).info, {}, 'only when asked');
});

test('verbose status has the keys and the form that containerd\'s plugin gives', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const labels = { 'Some/Label': 'a', camelCase: 'b' };
  const pod = await shim.runPod({ labels, linux: { cgroupParent: '/a', securityContext: { namespaceOptions: { pid: 1 } } } });
  const container = await shim.startContainer(pod, {
    labels,
    CDIDevices: [],
    envs: [{ key: 'KEY', value: Buffer.from('v') }],
    linux: { resources: { memoryLimitInBytes: 1n << 60n } },
  });
  const { info: texts, status: told } = await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod, verbose: true });
  const ofPod = JSON.parse(texts.info ?? '') as Record<string, unknown>;
  const config = {
    metadata: { name: 'pod', namespace: 'ns', uid: 'uid-1' },
    hostname: 'pod',
    log_directory: join(shim.dir, 'logs'),
    labels,
    linux: { cgroup_parent: '/a', security_context: { namespace_options: { pid: 1 } } },
  };
  t.match(ofPod, {
    processStatus: 'running',
    netNamespaceClosed: false,
    image: '',
    snapshotKey: '',
    snapshotter: '',
    runtimeType: 'io.containerd.runc.v2',
    cniResult: { Interfaces: { eth0: { IPConfigs: [{ IP: '10.1.0.7' }, { IP: 'fd00::7' }] } }, DNS: [{}], Routes: [] },
    sandboxMetadata: { Metadata: { ID: pod, NetNSPath: ofPod.netNamespacePath, IP: told?.network?.ip ?? '-', AdditionalIPs: ['fd00::7'], RuntimeHandler: '', ProcessLabel: '' } },
  });
  t.same(ofPod.config, config);
  t.same(ofPod.runtimeOptions, {}, 'options at their defaults are left out');
  const text = (await shim.cri.runtime.containerStatus({ containerId: container, verbose: true })).info.info ?? '';
  t.match(text, `"memory_limit_in_bytes":${1n << 60n}`, 'whole, and a number');
  t.match(JSON.parse(text), {
    removing: false,
    pid: Number,
    runtimeType: 'io.containerd.runc.v2',
    runtimeOptions: {},
    config: { metadata: { name: 'app' }, log_path: 'app/0.log', labels, envs: [{ key: 'KEY', value: 'v' }] },
  });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  const stopped = JSON.parse((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod, verbose: true })).info.info ?? '') as object;
  t.match(stopped, { pid: 0, processStatus: 'deleted', netNamespaceClosed: true });
});
