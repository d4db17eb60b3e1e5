import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { decodeSpec, type RuntimeSpec } from '@criquet/runtime-containerd';
import type { DeepPartial, PodSandboxConfig } from '@criquet/cri-api';
import { test, type Test } from 'tap';
import { NAMESPACE, Shim } from './shim-harness.js';
import { withHandlers } from './with-handlers.js';

type Settings = Parameters<typeof withHandlers>[0][string];

/** A daemon with the handler `special` beside runc; cgroup v2. */
async function withSpecial(t: Test, special: Settings, node: object = {}): Promise<Shim> {
  const shim = await Shim.start({ change: withHandlers({ special }), node: { nodeFacts: { cgroup: 'v2', cgroupDriver: 'cgroupfs', ...node } } });
  t.teardown(() => shim.close());
  return shim;
}

async function runPod(shim: Shim, change: DeepPartial<PodSandboxConfig> = {}, runtimeHandler = 'special'): Promise<string> {
  return (await shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig(change), runtimeHandler })).podSandboxId;
}

function specOf(shim: Shim, id: string): RuntimeSpec {
  const spec = shim.containerd.state(NAMESPACE).containers.get(id)?.spec;
  if (spec === undefined) throw new Error(`no spec of ${id}`);
  return decodeSpec(spec);
}

test('pod_annotations and container_annotations let annotations through into OCI specs, by glob', async (t) => {
  const shim = await withSpecial(t, { podAnnotations: ['io.example/*', 'exact'], containerAnnotations: ['device.example/*'] });
  const ofPod = { 'io.example/a': '1', 'io.example/b/c': '2', exact: '3', other: '4', 'device.example/pod': '5' };
  const ofContainer = { 'device.example/gpu': '6', 'io.example/container': '7' };
  const pod = await runPod(shim, { annotations: ofPod });
  const container = await shim.createContainer(pod, { annotations: ofContainer });
  const ours = (id: string) => Object.fromEntries(Object.entries(specOf(shim, id).annotations ?? {}).filter(([name]) => !name.startsWith('io.kubernetes.')));
  t.same(ours(pod), { 'io.example/a': '1', exact: '3' });
  t.same(ours(container), { 'io.example/a': '1', exact: '3', 'device.example/gpu': '6' });
  const other = await runPod(shim, { annotations: ofPod, metadata: { name: 'other', namespace: 'ns', uid: 'u2' } }, 'runc');
  t.same(ours(other), {}, 'another handler lets nothing through');
});

test('an annotation of the pod cannot pass for one of CRI itself', async (t) => {
  const shim = await withSpecial(t, { podAnnotations: ['io.kubernetes.cri.*'] });
  const pod = await runPod(shim, { annotations: { 'io.kubernetes.cri.container-type': 'container', 'io.kubernetes.cri.sandbox-id': 'x' } });
  t.match(specOf(shim, pod).annotations, { 'io.kubernetes.cri.container-type': 'sandbox', 'io.kubernetes.cri.sandbox-id': pod });
});

test('base_runtime_spec: containers are made from it, CRI goes over it, the pause process is not', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  const file = join(shim.dir, 'base.json');
  const base = {
    ociVersion: '1.0.2',
    hostname: 'base',
    process: {
      cwd: '/base',
      env: ['FROM=base', 'KEPT=base'],
      rlimits: [{ type: 'RLIMIT_NOFILE', hard: 18446744073709551615n, soft: 1024 }],
      capabilities: { bounding: ['CAP_CHOWN', 'CAP_KILL'] },
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'hidepid=2'] },
      { destination: '/run', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/opt/tools', type: 'bind', source: '/usr/share/tools', options: ['rbind', 'ro'] },
      { destination: '/data', type: 'bind', source: '/nowhere', options: ['rbind'] },
    ],
    hooks: { createRuntime: [{ path: '/usr/bin/hook' }] },
    annotations: { base: '1' },
    linux: { resources: { pids: { limit: 77 }, memory: { limit: 1 }, devices: [{ allow: false, access: 'rwm' }, { allow: true, type: 'c', major: 10, minor: 200, access: 'rwm' }] }, namespaces: [{ type: 'network' }] },
  };
  await writeFile(file, JSON.stringify(base, (_key, value: unknown) => (typeof value === 'bigint' ? 0 : value)).replace('"hard":0', '"hard":18446744073709551615'));
  shim.config = withHandlers({ special: { baseRuntimeSpec: file } })(shim.config);
  await shim.serve();
  const data = join(shim.dir, 'data');
  await mkdir(data);
  const pod = await runPod(shim);
  const container = await shim.createContainer(pod, {
    mounts: [{ containerPath: '/data', hostPath: data }],
    envs: [{ key: 'OWN', value: Buffer.from('1') }],
    linux: { resources: { memoryLimitInBytes: 1n << 24n }, securityContext: { capabilities: { addCapabilities: ['NET_RAW'] } } },
  });
  const spec = specOf(shim, container);
  t.same(spec.process?.rlimits, [{ type: 'RLIMIT_NOFILE', hard: 18446744073709551615n, soft: 1024 }]);
  t.ok(spec.process?.env?.includes('KEPT=base'));
  t.same(spec.process?.env?.filter((name) => name.startsWith('FROM=')), ['FROM=image']);
  t.same(spec.process?.capabilities?.bounding, ['CAP_CHOWN', 'CAP_KILL', 'CAP_NET_RAW']);
  t.equal(spec.process?.cwd, '/', 'as CRI and the image say');
  t.notOk('hostname' in spec);
  const mount = (destination: string) => spec.mounts?.filter((one) => one.destination === destination) ?? [];
  t.match(mount('/proc'), [{ options: ['nosuid', 'hidepid=2'] }]);
  t.same(mount('/run'), []);
  t.match(mount('/opt/tools'), [{ source: '/usr/share/tools' }]);
  t.match(mount('/data'), [{ source: data }]);
  t.match(spec.hooks, { createRuntime: [{ path: '/usr/bin/hook' }] });
  t.match(spec.annotations, { base: '1', 'io.kubernetes.cri.sandbox-id': pod });
  t.match(spec.linux?.resources, { pids: { limit: 77 }, memory: { limit: 1 << 24 } });
  t.same(spec.linux?.resources?.devices?.[0]?.allow, false);
  t.ok(spec.linux?.resources?.devices?.some(({ allow, major, minor }) => allow && major === 10 && minor === 200));
  t.same(spec.linux?.namespaces?.filter(({ type }) => type === 'network').map(({ path }) => path !== undefined), [true]);
  t.notOk('hooks' in specOf(shim, pod));
  const plain = await shim.createContainer(await runPod(shim, { metadata: { name: 'plain', namespace: 'ns', uid: 'u2' } }, ''));
  t.notOk('hooks' in specOf(shim, plain), 'another handler has no base');
});

test('base_runtime_spec that cannot be used: the start fails and names option and file', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  const file = join(shim.dir, 'base.json');
  const start = () => shim.startServer(withHandlers({ special: { baseRuntimeSpec: file } })(shim.config));
  await t.rejects(start(), { message: new RegExp(`runtime\\.handlers\\.special\\.base_runtime_spec: ${file}: .*ENOENT`) });
  await writeFile(file, '{');
  await t.rejects(start(), { message: new RegExp(`base_runtime_spec: ${file}: .*JSON`) });
  await writeFile(file, '{"ociVersion":"1.0.0","mounts":[{"source":"/"}]}');
  await t.rejects(start(), { message: /base_runtime_spec: .*mounts\.0\.destination/ });
  await shim.serve();
});

test('cgroup_writable: without privileges too, in a cgroup namespace of its own', async (t) => {
  const shim = await withSpecial(t, { cgroupWritable: true });
  const cgroupOptions = (id: string) => specOf(shim, id).mounts?.find(({ destination }) => destination === '/sys/fs/cgroup')?.options;
  const container = await shim.createContainer(await runPod(shim));
  t.ok(cgroupOptions(container)?.includes('rw'));
  t.ok(specOf(shim, container).linux?.namespaces?.some(({ type }) => type === 'cgroup'));
  const plain = await shim.createContainer(await runPod(shim, { metadata: { name: 'plain', namespace: 'ns', uid: 'u2' } }, 'runc'));
  t.ok(cgroupOptions(plain)?.includes('ro'));
});

test('cgroup_writable on cgroup v1: the start fails and names the option', async (t) => {
  await t.rejects(withSpecial(t, { cgroupWritable: true }, { cgroup: 'v1' }), { message: /runtime\.handlers\.special\.cgroup_writable: .*v2/ });
});

test('privileged_without_host_devices: no device of the node, any only where the option says so', async (t) => {
  const shim = await Shim.start({
    change: withHandlers({
      bare: { privilegedWithoutHostDevices: true },
      allowed: { privilegedWithoutHostDevices: true, privilegedWithoutHostDevicesAllDevicesAllowed: true },
    }),
  });
  t.teardown(() => shim.close());
  const privileged = { linux: { securityContext: { privileged: true } } };
  const devices = async (handler: string) => {
    const pod = await runPod(shim, { ...privileged, metadata: { name: handler, namespace: 'ns', uid: handler } }, handler);
    const { linux } = specOf(shim, await shim.createContainer(pod, privileged));
    const any = linux?.resources?.devices?.some(({ allow, major, type }) => allow && major === undefined && type === undefined) === true;
    return { nodes: linux?.devices?.some(({ path }) => path === '/dev/null') === true, any };
  };
  t.same(await devices('runc'), { nodes: true, any: true });
  t.same(await devices('bare'), { nodes: false, any: false });
  t.same(await devices('allowed'), { nodes: false, any: true });
});

test('all_devices_allowed alone means nothing: the start fails and names the option', async (t) => {
  await t.rejects(withSpecial(t, { privilegedWithoutHostDevicesAllDevicesAllowed: true }), {
    message: /special\.privileged_without_host_devices_all_devices_allowed: needs privileged_without_host_devices/,
  });
});

test('R3 cgroup parent: the driver is that of the handler, a mismatch is an error that leaves nothing, "" has a default', async (t) => {
  const shim = await withSpecial(t, { systemdCgroup: true }, { cgroupDriver: 'cgroupfs' });
  let pods = 0;
  const paths = async (cgroupParent: string, handler: string) => {
    const metadata = { name: `pod-${++pods}`, namespace: 'ns', uid: `u${pods}` };
    const pod = await runPod(shim, { metadata, linux: { cgroupParent } }, handler);
    const container = await shim.createContainer(pod);
    const found = [pod, container].map((id) => specOf(shim, id).linux?.cgroupsPath?.replace(id, 'ID'));
    t.equal(found[0], found[1]);
    return found[0];
  };
  t.equal(await paths('/a/b', 'runc'), '/a/b/ID');
  t.equal(await paths('', 'runc'), '/k8s.io/ID');
  t.equal(await paths('a-b.slice', 'special'), 'a-b.slice:cri-containerd:ID');
  t.equal(await paths('/a.slice/a-b.slice', 'special'), 'a-b.slice:cri-containerd:ID');
  t.equal(await paths('', 'special'), 'system.slice:cri-containerd:ID');
  const before = (await shim.cri.runtime.listPodSandbox({})).items.length;
  for (const [cgroupParent, handler, driver] of [['a-b.slice', 'runc', 'cgroupfs'], ['/a/b', 'special', 'systemd']] as const) {
    const error = { code: status.INVALID_ARGUMENT, details: new RegExp(`cgroup_parent.*${driver}.*driver`) };
    await t.rejects(runPod(shim, { metadata: { name: 'wrong', namespace: 'ns', uid: 'w' }, linux: { cgroupParent } }, handler), error);
  }
  t.equal((await shim.cri.runtime.listPodSandbox({})).items.length, before);
  const options = shim.containerd.control.requests('tasks.create') as { options?: { value: Uint8Array } }[];
  t.ok(options.length > 0);
  t.match(await shim.cri.runtime.runtimeConfig({}), { linux: { cgroupDriver: 1 } }, 'CGROUPFS: the default handler decides');
});

test('cni_conf_dir: pods of the handler are attached to its networks, and its state is told apart', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  const dir = join(shim.dir, 'special.d');
  await mkdir(dir);
  const list = (name: string) => JSON.stringify({ cniVersion: '1.0.0', name, plugins: [{ type: 'net' }] });
  await writeFile(join(dir, '1.conflist'), list('own-1'));
  await writeFile(join(dir, '2.conflist'), list('own-2'));
  await writeFile(join(dir, '3.conflist'), list('own-3'));
  shim.config = withHandlers({ special: { cniConfDir: dir, cniMaxConfNum: 2 }, empty: { cniConfDir: join(shim.dir, 'absent.d') } })(shim.config);
  await shim.serve();
  const networks = () => shim.plugins.calls.filter(({ command }) => command === 'ADD').map(({ config }) => (config as { name?: string }).name);
  const pod = await runPod(shim);
  t.same(networks(), ['own-1', 'own-2']);
  await runPod(shim, { metadata: { name: 'plain', namespace: 'ns', uid: 'u2' } }, 'runc');
  t.same(networks(), ['own-1', 'own-2', 'test']);
  await t.rejects(runPod(shim, { metadata: { name: 'none', namespace: 'ns', uid: 'u3' } }, 'empty'), { code: status.UNAVAILABLE, details: /no pod network.*absent\.d/ });
  const { info, status: runtime } = await shim.cri.runtime.status({ verbose: true });
  t.ok(runtime?.conditions.every(({ status: holds }) => holds), "one handler's network does not make the node unready");
  t.equal(JSON.parse(info.lastCNILoadStatus ?? ''), 'OK');
  t.equal(JSON.parse(info['lastCNILoadStatus.special'] ?? ''), 'OK');
  t.match(JSON.parse(info['lastCNILoadStatus.empty'] ?? ''), /absent\.d/);
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  t.equal(shim.plugins.calls.filter(({ command }) => command === 'DEL').length, 2);
});

test('a handler that has left the configuration: its pods are shown, stopped and removed, and get no new containers', async (t) => {
  const shim = await withSpecial(t, {});
  const pod = await runPod(shim);
  const container = await shim.startContainer(pod);
  await shim.stopServing();
  shim.config = withHandlers({ other: {} })(shim.config);
  await shim.serve();
  const { status: told, info } = await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod, verbose: true });
  t.match(told, { runtimeHandler: 'special', state: 0 });
  t.match(JSON.parse(info.info ?? ''), { runtimeHandler: 'special', runtimeType: 'io.containerd.runc.v2' });
  t.equal((await shim.cri.runtime.containerStatus({ containerId: container })).status?.state, 1);
  await t.rejects(shim.createContainer(pod, { metadata: { name: 'more', attempt: 0 } }), { code: status.FAILED_PRECONDITION, details: /"special".*not configured.*other/ });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a pod without a handler keeps the one that was the default when it came', async (t) => {
  const shim = await withSpecial(t, { runtimeType: 'io.containerd.special.v1' });
  const pod = await runPod(shim, {}, '');
  await shim.stopServing();
  shim.config = { ...shim.config, runtime: { ...shim.config.runtime, defaultHandler: 'special' } };
  await shim.serve();
  const runtimeOf = (id: string) => shim.containerd.state(NAMESPACE).containers.get(id)?.runtime?.name;
  t.equal(runtimeOf(await shim.createContainer(pod)), 'io.containerd.runc.v2');
  t.equal(runtimeOf(await runPod(shim, { metadata: { name: 'new', namespace: 'ns', uid: 'u2' } }, '')), 'io.containerd.special.v1');
});
