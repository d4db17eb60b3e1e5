import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode, SecurityProfile_ProfileType, type ContainerConfig, type DeepPartial, type MountPropagation, type PodSandboxConfig } from '@criquet/cri-api';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

// The table: each input gets the right code, a message that says what and where, and leaves nothing.

const { INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND } = status;

interface Case<Config> {
  readonly what: string;
  readonly change: DeepPartial<Config> | ((shim: Shim) => DeepPartial<Config> | Promise<DeepPartial<Config>>);
  readonly code: status | readonly status[];
  readonly says: RegExp;
}

const metadata = { name: 'pod', namespace: 'ns', uid: 'u', attempt: 0 };
const pods: readonly Case<PodSandboxConfig>[] = [
  { what: 'no name', change: { metadata: { ...metadata, name: '' } }, code: INVALID_ARGUMENT, says: /config\.metadata\.name/ },
  { what: 'no namespace', change: { metadata: { ...metadata, namespace: '' } }, code: INVALID_ARGUMENT, says: /config\.metadata\.namespace/ },
  { what: 'no uid', change: { metadata: { ...metadata, uid: '' } }, code: INVALID_ARGUMENT, says: /config\.metadata\.uid/ },
  { what: 'a name that is a path', change: { metadata: { ...metadata, name: '../x' } }, code: INVALID_ARGUMENT, says: /config\.metadata\.name/ },
  { what: 'a name CNI_ARGS cannot hold', change: { metadata: { ...metadata, name: 'a;b' } }, code: INVALID_ARGUMENT, says: /a;b|config/ },
  { what: 'a host name that is too long', change: { hostname: 'h'.repeat(65) }, code: INVALID_ARGUMENT, says: /config\.hostname/ },
  { what: 'a relative log directory', change: { logDirectory: 'logs' }, code: INVALID_ARGUMENT, says: /log_directory/ },
  { what: 'a port out of range', change: { portMappings: [{ containerPort: 70000, hostPort: 1 }] }, code: INVALID_ARGUMENT, says: /port_mappings\[0\]\.container_port.*70000/ },
  { what: 'a negative host port', change: { portMappings: [{ containerPort: 1, hostPort: 1 }, { containerPort: 1, hostPort: -1 }] }, code: INVALID_ARGUMENT, says: /port_mappings\[1\]\.host_port/ },
  { what: 'a host IP that is none', change: { portMappings: [{ containerPort: 1, hostPort: 1, hostIp: 'here' }] }, code: INVALID_ARGUMENT, says: /here/ },
  { what: 'a bandwidth that is none', change: { annotations: { 'kubernetes.io/ingress-bandwidth': 'fast' } }, code: INVALID_ARGUMENT, says: /bandwidth/ },
  { what: 'a sysctl of the node', change: { linux: { sysctls: { 'vm.swappiness': '1' } } }, code: INVALID_ARGUMENT, says: /vm\.swappiness/ },
  { what: 'a network sysctl on the host\'s network', change: { linux: { sysctls: { 'net.core.somaxconn': '1' }, securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } } }, code: INVALID_ARGUMENT, says: /net\.core\.somaxconn/ },
  { what: 'a seccomp profile that does not exist', change: { linux: { securityContext: { seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: '/nonexistent/profile.json' } } } }, code: [INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND], says: /\/nonexistent\/profile\.json/ },
];

for (const { what, change, code, says } of pods) {
  test(`RunPodSandbox with ${what}`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const error = (await shim.runPod(typeof change === 'function' ? await change(shim) : change).catch((reason: unknown) => reason)) as { code: status; details: string };
    t.ok([code].flat().includes(error.code), `code ${status[error.code]}: ${error.details}`);
    t.match(error.details, says);
    t.same(await shim.leftovers(), []);
    t.same(shim.plugins.calls, []);
    t.same((await shim.cri.runtime.listPodSandbox({})).items, []);
  });
}

test('RunPodSandbox without config, without metadata, with an unknown handler (X8)', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const run = (request: object) => shim.cri.runtime.runPodSandbox(request);
  await t.rejects(run({}), { code: INVALID_ARGUMENT, details: /^config: / });
  await t.rejects(run({ config: { hostname: 'x' } }), { code: INVALID_ARGUMENT, details: /^config\.metadata: / });
  await t.rejects(run({ config: shim.sandboxConfig(), runtimeHandler: 'nope' }), { code: INVALID_ARGUMENT, details: /runtime_handler.*"nope".*runc/ });
  t.same(await shim.leftovers(), []);
});

test('a malformed conflist: its file and what is wrong', async (t) => {
  const shim = await Shim.start({ network: false });
  t.teardown(() => shim.close());
  await writeFile(join(shim.config.cni.confDir, '10-bad.conflist'), '{"cniVersion": "1.0.0", "name": "x", "plugins": [{"type": 7}]}');
  await eventually(async () => {
    const { status: now } = await shim.cri.runtime.status({});
    if (!JSON.stringify(now?.conditions).includes('10-bad.conflist')) throw new Error('not yet seen');
  });
  await t.rejects(shim.runPod(), { code: status.UNAVAILABLE, details: /10-bad\.conflist/ });
  t.same(await shim.leftovers(), []);
});

async function pathOf(shim: Shim, kind: 'file' | 'directory' | 'dangling'): Promise<string> {
  const path = join(shim.dir, `source-${kind}`);
  if (kind === 'file') await writeFile(path, '');
  else if (kind === 'directory') await mkdir(path);
  else await symlink('/nonexistent/target', path);
  return path;
}

const limits = (resources: object) => ({ linux: { resources } });
const containers: readonly Case<ContainerConfig>[] = [
  { what: 'no name', change: { metadata: { name: '' } }, code: INVALID_ARGUMENT, says: /config\.metadata\.name/ },
  { what: 'a name that is a path', change: { metadata: { name: 'a/b' } }, code: INVALID_ARGUMENT, says: /config\.metadata\.name/ },
  { what: 'no image', change: { image: { image: '' } }, code: INVALID_ARGUMENT, says: /config\.image\.image/ },
  { what: 'an image that is not there', change: { image: { image: 'registry.test/no:1' } }, code: NOT_FOUND, says: /registry\.test\/no:1/ },
  { what: 'an image name that is none', change: { image: { image: 'UPPER CASE' } }, code: [NOT_FOUND, INVALID_ARGUMENT], says: /UPPER CASE/ },
  { what: 'an image without a command', change: { image: { image: 'registry.test/silent:1' } }, code: INVALID_ARGUMENT, says: /command/ },
  { what: 'a user that does not exist', change: { linux: { securityContext: { runAsUsername: 'nobody-here' } } }, code: INVALID_ARGUMENT, says: /nobody-here/ },
  { what: 'X1 a user number beyond 2^31', change: { linux: { securityContext: { runAsUser: { value: 2n ** 32n } } } }, code: INVALID_ARGUMENT, says: /run_as_user|4294967296/ },
  { what: 'X1 a negative user number', change: { linux: { securityContext: { runAsUser: { value: -1n } } } }, code: INVALID_ARGUMENT, says: /run_as_user|-1/ },
  { what: 'X1 an image whose user overflows', change: { image: { image: 'registry.test/overflow:1' } }, code: INVALID_ARGUMENT, says: /4294967296/ },
  { what: 'a group without a user', change: { linux: { securityContext: { runAsGroup: { value: 5n } } } }, code: INVALID_ARGUMENT, says: /run_as_group/ },
  { what: 'a mount whose source lies below a file', change: async (shim) => ({ mounts: [{ hostPath: `${await pathOf(shim, 'file')}/x`, containerPath: '/m' }] }), code: [INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND], says: /mounts\[0\].*source-file/ },
  { what: 'a mount whose source is a dangling link', change: async (shim) => ({ mounts: [{ hostPath: await pathOf(shim, 'dangling'), containerPath: '/m' }] }), code: [INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND], says: /mounts\[0\].*source-dangling/ },
  { what: 'a mount without a destination', change: async (shim) => ({ mounts: [{ hostPath: await pathOf(shim, 'directory'), containerPath: '' }] }), code: INVALID_ARGUMENT, says: /mounts\[0\]\.container_path/ },
  { what: 'a mount on the root', change: async (shim) => ({ mounts: [{ hostPath: await pathOf(shim, 'directory'), containerPath: '/' }] }), code: INVALID_ARGUMENT, says: /mounts\[0\]/ },
  { what: 'a propagation that is none', change: async (shim) => ({ mounts: [{ hostPath: await pathOf(shim, 'directory'), containerPath: '/m', propagation: 99 as MountPropagation }] }), code: INVALID_ARGUMENT, says: /propagation/ },
  { what: 'a device that does not exist', change: { devices: [{ hostPath: '/dev/nonexistent', containerPath: '/dev/x', permissions: 'rwm' }] }, code: [INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND], says: /devices\[0\].*\/dev\/nonexistent/ },
  { what: 'device permissions that are none', change: { devices: [{ hostPath: '/dev/null', containerPath: '/dev/x', permissions: 'rwxyz' }] }, code: INVALID_ARGUMENT, says: /devices\[0\]\.permissions/ },
  { what: 'a negative memory limit', change: limits({ memoryLimitInBytes: -5n }), code: INVALID_ARGUMENT, says: /memory_limit_in_bytes/ },
  { what: 'negative CPU shares', change: limits({ cpuShares: -1n }), code: INVALID_ARGUMENT, says: /cpu_shares/ },
  { what: 'a CPU period out of range', change: limits({ cpuPeriod: 5n, cpuQuota: 1000n }), code: INVALID_ARGUMENT, says: /cpu_period/ },
  { what: 'a cpuset that is none', change: limits({ cpusetCpus: 'all' }), code: INVALID_ARGUMENT, says: /cpuset_cpus/ },
  { what: 'an oom_score_adj out of range', change: limits({ oomScoreAdj: 5000n }), code: INVALID_ARGUMENT, says: /oom_score_adj/ },
  { what: 'a capability that is none', change: { linux: { securityContext: { capabilities: { addCapabilities: ['FLYING'] } } } }, code: INVALID_ARGUMENT, says: /FLYING/ },
  { what: 'X2 a seccomp profile that does not exist', change: { linux: { securityContext: { seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'absent.json' } } } }, code: [INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND], says: /absent\.json/ },
  { what: 'X2 a seccomp profile that is no JSON', change: async (shim) => ({ linux: { securityContext: { seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: await pathOf(shim, 'file') } } } }), code: [INVALID_ARGUMENT, FAILED_PRECONDITION], says: /source-file/ },
  { what: 'an environment variable without a name', change: { envs: [{ key: '', value: Buffer.from('x') }] }, code: INVALID_ARGUMENT, says: /envs\[0\]/ },
  { what: 'a relative working directory', change: { workingDir: 'here' }, code: INVALID_ARGUMENT, says: /working_dir/ },
  { what: 'a log path that climbs out', change: { logPath: '../../etc/x' }, code: INVALID_ARGUMENT, says: /log_path/ },
  { what: 'an absolute log path', change: { logPath: '/etc/x' }, code: INVALID_ARGUMENT, says: /log_path/ },
  { what: 'a PID namespace of a container that is not there', change: { linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.TARGET, targetId: 'f'.repeat(64) } } } }, code: INVALID_ARGUMENT, says: /target_id/ },
  { what: 'a stop signal of the image that is none', change: { image: { image: 'registry.test/signal:1' } }, code: INVALID_ARGUMENT, says: /SIGNOTHING/ },
];

for (const { what, change, code, says } of containers) {
  test(`CreateContainer with ${what}`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    shim.containerd.addImage(NAMESPACE, 'registry.test/silent:1', fakeImage({ config: {}, files: { x: 'silent' } }));
    shim.containerd.addImage(NAMESPACE, 'registry.test/overflow:1', fakeImage({ config: { Cmd: ['x'], User: '4294967296:0' } }));
    shim.containerd.addImage(NAMESPACE, 'registry.test/signal:1', fakeImage({ config: { Cmd: ['x'], StopSignal: 'SIGNOTHING' } }));
    await eventually(async () => {
      if ((await shim.cri.image.listImages({})).images.length < 4) throw new Error('images');
    });
    const pod = await shim.runPod();
    const before = await shim.leftovers();
    const wanted = typeof change === 'function' ? await change(shim) : change;
    const error = (await shim.createContainer(pod, wanted).catch((reason: unknown) => reason)) as { code: status; details: string };
    t.ok([code].flat().includes(error.code), `code ${status[error.code]}: ${error.details}`);
    t.match(error.details, says);
    t.same(await shim.leftovers(), before);
    t.same((await shim.cri.runtime.listContainers({})).containers, []);
    t.match(await shim.createContainer(pod), /^[0-9a-f]{64}$/, 'the name is free');
  });
}

test('a mount whose source is missing gets a directory, as with containerd\'s plugin', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const hostPath = join(shim.dir, 'made', 'here');
  await shim.createContainer(await shim.runPod(), { mounts: [{ hostPath, containerPath: '/m' }] });
  t.ok((await stat(hostPath)).isDirectory());
});

test('CreateContainer without config, sandbox id, or metadata', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const { runtime } = shim.cri;
  await t.rejects(runtime.createContainer({ podSandboxId: pod }), { code: INVALID_ARGUMENT, details: /^config: / });
  await t.rejects(runtime.createContainer({ podSandboxId: pod, config: {} }), { code: INVALID_ARGUMENT, details: /^config\.metadata: / });
  await t.rejects(runtime.createContainer({ podSandboxId: '', config: shim.containerConfig() }), { code: INVALID_ARGUMENT, details: /sandbox id/ });
});

test('calls without an id', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime, image } = shim.cri;
  const missing = (details: RegExp) => ({ code: INVALID_ARGUMENT, details });
  await t.rejects(runtime.stopPodSandbox({}), missing(/pod_sandbox_id/));
  await t.rejects(runtime.removePodSandbox({}), missing(/pod_sandbox_id/));
  await t.rejects(runtime.podSandboxStatus({}), missing(/sandbox id/));
  await t.rejects(runtime.startContainer({}), missing(/container id/));
  await t.rejects(runtime.stopContainer({}), missing(/container_id/));
  await t.rejects(runtime.removeContainer({}), missing(/container_id/));
  await t.rejects(runtime.containerStatus({}), missing(/container id/));
  await t.rejects(runtime.execSync({ cmd: ['x'] }), missing(/container id/));
  await t.rejects(runtime.reopenContainerLog({}), missing(/container id/));
  await t.rejects(image.pullImage({}), missing(/image\.image/));
  await t.rejects(image.imageStatus({}), missing(/image\.image/));
  await t.rejects(image.removeImage({}), missing(/image\.image/));
});

test('a log directory that leads out by a link, and one that cannot be made: StartError, nothing left', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await mkdir(join(shim.dir, 'logs'), { recursive: true });
  await mkdir(join(shim.dir, 'elsewhere'));
  await symlink(join(shim.dir, 'elsewhere'), join(shim.dir, 'logs', 'out'));
  await writeFile(join(shim.dir, 'logs', 'file'), '');
  for (const [index, [logPath, code]] of ([['out/0.log', INVALID_ARGUMENT], ['file/0.log', FAILED_PRECONDITION]] as const).entries()) {
    const containerId = await shim.createContainer(pod, { metadata: { name: 'app', attempt: index }, logPath });
    const before = await shim.leftovers();
    await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code, details: /^open the log and FIFOs: / });
    t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 128, reason: 'StartError' });
    t.same(await shim.leftovers(), before);
  }
});

test('a message over 16 MiB is refused, and the daemon goes on', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await t.rejects(shim.runPod({ annotations: { big: 'x'.repeat(17 * 1024 * 1024) } }), { code: status.RESOURCE_EXHAUSTED });
  await shim.runPod();
});
