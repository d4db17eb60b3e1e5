import { access, lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode } from '@criquet/cri-api';
import { decodeRuncOptions, decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { create, extract } from 'tar';
import { test, type Test } from 'tap';
import { SpdyClient } from '../streaming/support/spdy-client.js';
import { counter } from './checkpoint-fixture.js';
import { recordedSpec } from './recorded-spec.js';
import { eventually, IMAGE, NAMESPACE, Shim } from './shim-harness.js';

// What was published of other CRI runtimes, where no test of the feature itself shows that criquet is not open to it. See SECURITY.md.

async function started(t: Test, options: Parameters<typeof Shim.start>[0] = {}): Promise<Shim> {
  const shim = await Shim.start(options);
  t.teardown(() => shim.close());
  return shim;
}

const labelsOf = (shim: Shim, id: string) => shim.containerd.state(NAMESPACE).containers.get(id)?.labels ?? {};
const descriptors = async () => (await readdir('/proc/self/fd')).length;
const imageRoot = (shim: Shim, chainId: string) => shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').get(chainId)?.dir ?? '';

test('CVE-2020-15257 no socket of the daemon is an abstract one, which every pod on the node\'s network could reach', async (t) => {
  const shim = await started(t);
  await shim.startContainer(await shim.runPod());
  const links = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  const own = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const sockets = (await readFile('/proc/net/unix', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/)).filter(([, , , , , , inode]) => own.has(inode ?? ''));
  t.ok(sockets.some(([, , , , , , , path]) => path === shim.config.listen.replace('unix://', '')), 'the daemon\'s socket is among them');
  t.same(sockets.map(([, , , , , , , path]) => path ?? '').filter((path) => path.startsWith('@')), []);
});

test('CVE-2022-23648 volumes that an image declares by paths that climb are places in the container, filled from the image', async (t) => {
  const shim = await started(t);
  const Volumes = { '/../../../../etc': {}, '../../../../../../../proc/self': {}, '/a/../../b': {} };
  const image = fakeImage({ config: { Cmd: ['/x'], Volumes }, files: { 'etc/inside': 'of the image', 'etc/passwd': 'root:x:0:0::/:/x\n' } });
  shim.containerd.addImage(NAMESPACE, 'registry.test/climbs:1', image);
  await eventually(() => shim.cri.image.imageStatus({ image: { image: 'registry.test/climbs:1' } }).then(({ image: found }) => found ?? Promise.reject(new Error('not there'))));
  const id = await shim.createContainer(await shim.runPod(), { image: { image: 'registry.test/climbs:1' } });
  const mounts = ((await recordedSpec(shim, id)).mounts ?? []).filter(({ source = '' }) => source.includes('/volumes/'));
  t.same(mounts.map(({ destination }) => destination).sort(), ['/b', '/etc', '/proc/self']);
  t.ok(mounts.every(({ source = '' }) => source.startsWith(`${shim.config.rootDir}/volumes/${id}/`)));
  const etc = mounts.find(({ destination }) => destination === '/etc');
  t.same((await readdir(etc?.source ?? '')).sort(), ['inside', 'passwd']);
});

test('CVE-2026-53488 labels of a pod, of a container and of an image that containerd would act on do not come to it', async (t) => {
  const shim = await started(t);
  const acted = { 'containerd.io/restart.status': 'running', 'containerd.io/restart.loguri': 'binary:///bin/sh?-c=id', 'containerd.io/gc.root': 'now' };
  const image = fakeImage({ config: { Cmd: ['/x'], Labels: { ...acted, plain: 'of the image' } }, files: {} });
  shim.containerd.addImage(NAMESPACE, 'registry.test/labels:1', image);
  await eventually(() => shim.cri.image.imageStatus({ image: { image: 'registry.test/labels:1' } }).then(({ image: found }) => found ?? Promise.reject(new Error('not there'))));
  const pod = await shim.runPod({ labels: { ...acted, mine: 'x' } });
  const container = await shim.createContainer(pod, { labels: { ...acted, mine: 'x' }, image: { image: 'registry.test/labels:1' } });
  for (const id of [pod, container]) {
    const labels = labelsOf(shim, id);
    t.same(Object.keys(labels).filter((key) => key.startsWith('containerd.io/')), []);
    t.equal(labels.mine, 'x');
    t.equal(labels.plain, undefined, 'nor anything of the image');
  }
  t.match((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.labels, acted, 'CRI shows what it was given');
});

test('CVE-2024-3154 annotations of a pod are none of its OCI spec, where a runtime would take them for properties of systemd', async (t) => {
  const shim = await started(t);
  const annotations = { 'org.systemd.property.SuccessAction': "'poweroff-force'", 'run.oci.hooks.stderr': '/x', 'io.kubernetes.cri-o.UnifiedCgroup': 'memory.max=max' };
  const pod = await shim.runPod({ annotations });
  const container = await shim.createContainer(pod, { annotations });
  for (const id of [pod, container]) {
    const spec = await recordedSpec(shim, id);
    t.same(Object.keys(spec.annotations ?? {}).filter((name) => name in annotations), [], 'CVE-2023-6476 nor for limits of cgroup v2');
    t.equal(spec.linux?.resources?.unified, undefined);
  }
});

test('CVE-2022-0811 sysctls: a name or a value that holds more than one is refused', async (t) => {
  const shim = await started(t);
  for (const sysctls of [
    { 'kernel.shm_rmid_forced': '1+kernel.core_pattern=|/x' },
    { 'kernel.shm_rmid_forced+kernel.core_pattern': '|/x' },
    { 'net.core.somaxconn': '1\nkernel.core_pattern=|/x' },
    { 'net/../kernel/core_pattern': '|/x' },
    { 'net.ipv4/../../kernel/core_pattern': '|/x' },
    { 'kernel.core_pattern': '|/x' },
  ] as Record<string, string>[]) {
    const podSandboxId = await shim.runPod({ linux: { sysctls } }).catch((error: { code: status }) => {
      t.equal(error.code, status.INVALID_ARGUMENT, JSON.stringify(sysctls));
      return undefined;
    });
    if (podSandboxId === undefined) continue;
    // A value is one value: the runtime writes it as it stands into the file of its own name.
    const { linux } = await recordedSpec(shim, podSandboxId);
    t.match(linux?.sysctl, sysctls);
    t.notOk(Object.keys(linux?.sysctl ?? {}).some((name) => name.includes('core_pattern')));
    await shim.cri.runtime.stopPodSandbox({ podSandboxId });
    await shim.cri.runtime.removePodSandbox({ podSandboxId });
  }
});

test('CVE-2022-4318, CVE-2026-15809 a HOME with a newline changes no /etc/passwd: criquet writes none', async (t) => {
  const shim = await started(t);
  const before = await hashOf(shim);
  const container = await shim.createContainer(await shim.runPod(), { envs: [{ key: 'HOME', value: Buffer.from('/root\nevil:x:0:0::/:/bin/sh') }], linux: { securityContext: { runAsUser: { value: 4_321n } } } });
  const spec = await recordedSpec(shim, container);
  t.notOk((spec.mounts ?? []).some(({ destination }) => destination === '/etc/passwd'));
  t.same(await hashOf(shim), before, 'nor the image\'s');
  t.equal(await readFile(join(imageRoot(shim, container), 'etc/passwd'), 'utf8').catch(() => undefined), await readFile(join(imageRoot(shim, shim.image.chainId), 'etc/passwd'), 'utf8'), 'nor the container\'s');
});

async function hashOf(shim: Shim): Promise<string> {
  return createHash('sha256').update(await readFile(join(imageRoot(shim, shim.image.chainId), 'etc/passwd'))).digest('hex');
}

test('CVE-2024-5154 an image whose /etc is a link: nothing is made at the place where it leads', async (t) => {
  const shim = await started(t);
  const image = fakeImage({ config: { Cmd: ['/x'] }, files: { 'bin/x': 'x' } });
  shim.containerd.addImage(NAMESPACE, 'registry.test/link:1', image);
  const outside = join(shim.dir, 'outside');
  await mkdir(outside);
  await symlink(outside, join(imageRoot(shim, image.chainId), 'etc'));
  await eventually(() => shim.cri.image.imageStatus({ image: { image: 'registry.test/link:1' } }).then(({ image: found }) => found ?? Promise.reject(new Error('not there'))));
  await shim.startContainer(await shim.runPod(), { image: { image: 'registry.test/link:1' } });
  t.same(await readdir(outside), []);
});

test('CVE-2025-0750 metadata with a path in it names no path of the node', async (t) => {
  const shim = await started(t);
  const metadata = { name: 'pod', namespace: 'ns', uid: '../../../../criquet-escaped', attempt: 0 };
  const podSandboxId = await shim.runPod({ metadata }).catch(() => undefined);
  if (podSandboxId !== undefined) {
    await shim.startContainer(podSandboxId, { metadata: { name: 'app' } });
    await t.rejects(shim.createContainer(podSandboxId, { metadata: { name: '../../criquet-escaped', attempt: 0 }, logPath: '../../criquet-escaped/0.log' }), { code: status.INVALID_ARGUMENT });
    await shim.cri.runtime.stopPodSandbox({ podSandboxId });
    await shim.cri.runtime.removePodSandbox({ podSandboxId });
  }
  for (const path of ['/criquet-escaped', join(shim.dir, 'criquet-escaped'), join(shim.dir, '../criquet-escaped')]) {
    t.notOk(await access(path).then(() => true, () => false), path);
  }
  t.same(await shim.leftovers(), []);
});

test('CVE-2025-47291 a container with a user namespace has its place in the pod\'s cgroup, as any other', async (t) => {
  const ids = { hostId: 100_000, containerId: 0, length: 65_536 };
  const usernsOptions = { mode: NamespaceMode.POD, uids: [ids], gids: [ids] };
  const shim = await started(t, { node: { nodeFacts: { cgroupDriver: 'cgroupfs' } } });
  const linux = { cgroupParent: '/kubepods/pod-x', securityContext: { namespaceOptions: { usernsOptions } } };
  const pod = await shim.runPod({ linux }).catch((error: { details: string }) => error);
  if (typeof pod !== 'string') {
    t.comment(`no user namespaces here: ${pod.details}`);
    return;
  }
  const request = { podSandboxId: pod, config: shim.containerConfig({ linux: { securityContext: { namespaceOptions: { usernsOptions } } } }), sandboxConfig: shim.sandboxConfig({ linux }) };
  const { containerId } = await shim.cri.runtime.createContainer(request);
  for (const id of [pod, containerId]) t.equal((await recordedSpec(shim, id)).linux?.cgroupsPath, `/kubepods/pod-x/${id}`);
});

test('CVE-2019-14891 nothing that manages a container is put into its pod\'s cgroup, where its memory limit would end it', async (t) => {
  const shim = await started(t);
  await shim.startContainer(await shim.runPod({ linux: { cgroupParent: '/kubepods/pod-x' } }));
  const requests = shim.containerd.control.requests('tasks.create') as { options?: { typeUrl: string; value: Buffer } }[];
  t.equal(requests.length, 2);
  for (const { options } of requests) if (options !== undefined) t.equal(decodeRuncOptions(options).shimCgroup, '');
});

test('CVE-2022-23471 terminals whose command cannot be started, again and again: nothing of them stays', { timeout: 60_000 }, async (t) => {
  const shim = await started(t);
  const containerId = await shim.startContainer(await shim.runPod());
  const attempt = async () => {
    const { url } = await shim.cri.runtime.exec({ containerId, cmd: ['/none'], tty: true, stdin: true, stdout: true });
    const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
    const { resize } = await client.openTypes('error', 'stdin', 'stdout', 'resize');
    for (let size = 1; size < 20; size++) resize.write(`{"Width":${size},"Height":${size}}`);
    await client.closed;
  };
  shim.containerd.control.fail('tasks.start', { code: status.UNKNOWN, details: 'no such file', when: ({ request }) => (request as { execId: string }).execId !== '' });
  await attempt();
  await eventually(() => nothingLeft(shim, containerId));
  const before = await descriptors();
  for (let index = 0; index < 60; index++) await attempt();
  await eventually(() => nothingLeft(shim, containerId));
  t.ok((await descriptors()) <= before + 10, `${before} descriptors before, ${await descriptors()} after`);
});

test('CVE-2025-64329 attach, again and again: nothing of a client stays', { timeout: 60_000 }, async (t) => {
  const shim = await started(t, { change: (config) => ({ ...config, container: { ...config.container, maxAttachClients: 2 } }) });
  shim.run(async (process) => {
    for await (const chunk of process.stdin()) await process.stdout(chunk);
  });
  const containerId = await shim.startContainer(await shim.runPod(), { stdin: true });
  const attempt = async () => {
    const url = await eventually(async () => (await shim.cri.runtime.attach({ containerId, stdin: true, stdout: true })).url);
    const client = await SpdyClient.connect(url, ['v4.channel.k8s.io']);
    const { stdin, stdout } = await client.openTypes('error', 'stdin', 'stdout');
    stdin.write('x');
    await eventually(() => (stdout.text.includes('x') ? undefined : Promise.reject(new Error('no echo'))));
    client.socket.destroy();
  };
  await attempt();
  const before = await descriptors();
  // A client that stayed would be the third after two.
  for (let index = 0; index < 60; index++) await attempt();
  await eventually(async () => {
    const now = await descriptors();
    if (now > before + 10) throw new Error(`${before} descriptors before, ${now} after`);
  });
  t.pass();
});

async function nothingLeft(shim: Shim, containerId: string): Promise<void> {
  const files = (await shim.ioFiles(containerId)).filter((name) => !/^std(in|out|err)$/.test(name));
  const execs = [...shim.containerd.task(NAMESPACE, containerId).execs.keys()];
  if (files.length + execs.length > 0) throw new Error([...files, ...execs].join());
}

/** A checkpoint whose documents say what their author likes. */
async function forged(t: Test, change: { config?: (text: string) => string; spec?: (spec: RuntimeSpec) => RuntimeSpec }): Promise<{ shim: Shim; file: string; pod: string }> {
  const { shim, location, dir, checkpoint } = await counter(t);
  await checkpoint();
  const tree = t.testdir({});
  await extract({ file: location, cwd: tree });
  if (change.config !== undefined) await writeFile(join(tree, 'config.dump'), change.config(await readFile(join(tree, 'config.dump'), 'utf8')));
  if (change.spec !== undefined) await writeFile(join(tree, 'spec.dump'), JSON.stringify(change.spec(JSON.parse(await readFile(join(tree, 'spec.dump'), 'utf8')) as RuntimeSpec)));
  const file = join(dir, 'forged.tar');
  await create({ cwd: tree, file }, await readdir(tree));
  return { shim, file, pod: await shim.runPod({ metadata: { name: 'second', namespace: 'ns', uid: 'uid-2', attempt: 0 } }) };
}

test('CVE-2026-53492, CVE-2024-8676 a checkpoint brings no devices, mounts, hooks or annotations of its own', async (t) => {
  const { shim, file, pod } = await forged(t, {
    spec: (spec) => ({
      ...spec,
      annotations: { ...spec.annotations, 'cdi.k8s.io/forged': 'vendor.test/device=all' },
      mounts: [...(spec.mounts ?? []), { destination: '/host', type: 'bind', source: '/', options: ['rbind'] }],
      linux: { ...spec.linux, devices: [{ path: '/dev/mem', type: 'c', major: 1, minor: 1 }] },
      hooks: { prestart: [{ path: '/bin/sh' }] },
    } as RuntimeSpec),
  });
  const make = () => shim.createContainer(pod, { metadata: { name: 'restored' }, image: { image: file } });
  await t.rejects(make(), { code: status.FAILED_PRECONDITION, details: /the checkpoint has mounts at \/host/ });
  const plain = await forged(t, {
    spec: (spec) => ({ ...spec, annotations: { 'cdi.k8s.io/forged': 'vendor.test/device=all' }, linux: { ...spec.linux, devices: [{ path: '/dev/mem', type: 'c', major: 1, minor: 1 }] }, hooks: { prestart: [{ path: '/bin/sh' }] } } as RuntimeSpec),
  });
  const id = await plain.shim.createContainer(plain.pod, { metadata: { name: 'restored' }, image: { image: plain.file } });
  const spec = decodeSpec(plain.shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never);
  t.notOk(Object.keys(spec.annotations ?? {}).some((name) => name.startsWith('cdi.k8s.io/')));
  t.notOk((spec.linux?.devices ?? []).some(({ path }) => path === '/dev/mem'));
  t.equal(spec.hooks, undefined);
});

test('CVE-2026-50195 the image that a checkpoint names is pulled by its digest, and no tag comes to mean it', async (t) => {
  const other = fakeImage({ config: { Cmd: ['/evil'] }, files: {} });
  const { shim, file, pod } = await forged(t, {
    config: (text) => text.replace(/"rootfsImageName":"[^"]*"/, `"rootfsImageName":"${IMAGE}"`).replace(/"rootfsImageRef":"[^"]*"/, `"rootfsImageRef":"registry.test/evil:1@${other.target.digest}"`),
  });
  const digestName = `registry.test/evil@${other.target.digest}`;
  shim.containerd.registry.set(digestName, { image: other });
  const tags = async () => (await shim.cri.image.listImages({})).images.flatMap(({ repoTags }) => repoTags).sort();
  const before = await tags();
  const id = await shim.createContainer(pod, { metadata: { name: 'restored' }, image: { image: file } });
  t.equal((await shim.cri.runtime.containerStatus({ containerId: id })).status?.imageId, other.id, 'it is the base of the container');
  t.same(await tags(), before, 'no name changed its meaning, and there is no new one');
  t.not((await shim.cri.image.imageStatus({ image: { image: IMAGE } })).image?.id, other.id);
});

test('runtime handlers and CDI devices are looked up, and are no paths', async (t) => {
  const shim = await started(t);
  for (const runtimeHandler of ['../runc', '/usr/bin/env', '__proto__', 'constructor', 'runc\n']) {
    await t.rejects(shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(), runtimeHandler }), { code: status.INVALID_ARGUMENT, details: /runtime_handler/ }, runtimeHandler);
  }
  const pod = await shim.runPod();
  for (const name of ['../../etc/passwd', '/dev/mem', 'vendor.test/class=../../x', '__proto__']) {
    const error = (await shim.createContainer(pod, { CDIDevices: [{ name }] }).catch((reason: unknown) => reason)) as { code?: status };
    t.ok([status.INVALID_ARGUMENT, status.NOT_FOUND, status.FAILED_PRECONDITION].includes(error.code ?? status.OK), name);
  }
  t.ok((await lstat(shim.config.rootDir)).isDirectory());
});
