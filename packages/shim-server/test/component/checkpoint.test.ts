import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointContainerRequest, ContainerConfig, DeepPartial } from '@criquet/cri-api';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { status } from '@grpc/grpc-js';
import { create, extract, list } from 'tar';
import { test, type Test } from 'tap';
import { recordedSpec } from './recorded-spec.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

const RUNNING = 2;

interface Counter {
  readonly shim: Shim;
  readonly pod: string;
  readonly container: string;
  /** Where archives go. */
  readonly dir: string;
  readonly location: string;
  readonly before: string[];
  checkpoint(change?: DeepPartial<CheckpointContainerRequest>): Promise<unknown>;
}

/** A running container that has changed its root file system. */
async function counter(t: Test, options: Parameters<typeof Shim.start>[0] = {}): Promise<Counter> {
  const shim = await Shim.start(options);
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const container = await shim.startContainer(pod);
  await writeFile(join(rootfs(shim, container), 'count'), '7');
  await rm(join(rootfs(shim, container), 'etc/group'));
  const dir = join(shim.dir, 'archives');
  await mkdir(dir);
  const location = join(dir, 'counter.tar');
  const checkpoint = (change: DeepPartial<CheckpointContainerRequest> = {}) =>
    shim.cri.runtime.checkpointContainer({ containerId: container, location, timeout: 0n, ...change });
  return { shim, pod, container, dir, location, before: await present(shim), checkpoint };
}

function rootfs(shim: Shim, container: string): string {
  return shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').get(container)?.dir ?? '';
}

function taskStatus(shim: Shim, container: string): number {
  return shim.containerd.process(NAMESPACE, container).status;
}

async function entries(file: string): Promise<string[]> {
  const names: string[] = [];
  await list({ file, onReadEntry: ({ path }) => names.push(path) });
  return names;
}

/** Everything of the pods that are there, without what went and came meanwhile. */
async function present(shim: Shim): Promise<string[]> {
  return (await shim.leftovers()).filter((line) => !/ADDs, /.test(line));
}

/** That a failed checkpoint has left nothing: no file, no lease, no pause. */
async function expectNothing(t: Test, { shim, container, dir, before }: Counter): Promise<void> {
  await eventually(async () => {
    const left = [...(await readdir(dir)), ...(await present(shim)).filter((line) => !before.includes(line))];
    if (left.length > 0 || taskStatus(shim, container) !== RUNNING) throw new Error(left.join(', '));
  });
  t.equal(taskStatus(shim, container), RUNNING, 'it goes on');
}

test('CheckpointContainer: an archive at location, mode 0600, of processes, root file system, log and documents', async (t) => {
  const { shim, container, dir, location, before, checkpoint } = await counter(t);
  await checkpoint();
  t.equal((await stat(location)).mode & 0o7777, 0o600);
  t.same(await readdir(dir), ['counter.tar']);
  const found = await entries(location);
  t.same(found.slice(0, 4), ['config.dump', 'spec.dump', 'status.dump', 'status']);
  for (const name of ['checkpoint/inventory.img', 'checkpoint/pages-1.img', 'rootfs-diff.tar', 'container.log', 'dump.log', 'stats-dump']) t.ok(found.includes(name), name);
  const unpacked = t.testdir();
  await extract({ file: location, cwd: unpacked });
  const json = async (name: string) => JSON.parse(await readFile(join(unpacked, name), 'utf8')) as unknown;
  t.match(await json('config.dump'), { id: container, name: 'app', rootfsImageRef: `registry.test/app@${shim.image.manifestDigest}`, rootfsImageName: 'registry.test/app:1', runtime: 'io.containerd.runc.v2' });
  t.match(await json('status.dump'), { id: container, state: 1, metadata: { name: 'app' } });
  t.match(await json('spec.dump'), { process: { args: ['/app'] } });
  t.same(await json('rootfs-diff.tar'), { count: '7', 'etc/group': null });
  t.same(await present(shim), before, 'and nothing else');
  t.equal(taskStatus(shim, container), RUNNING);
  const names = shim.containerd.control.calls.map(({ name }) => name);
  t.ok(names.indexOf('tasks.pause') < names.indexOf('tasks.checkpoint'));
  t.ok(names.indexOf('diff.diff') < names.indexOf('tasks.resume'), 'the files are those of the same moment');
  await checkpoint();
  t.same(await readdir(dir), ['counter.tar'], 'again: in the place of the first');
});

test('CheckpointContainer.container_id: unknown, empty, not running', async (t) => {
  const { shim, pod, checkpoint } = await counter(t);
  await t.rejects(checkpoint({ containerId: 'none' }), { code: status.NOT_FOUND });
  await t.rejects(checkpoint({ containerId: '' }), { code: status.INVALID_ARGUMENT });
  const created = await shim.createContainer(pod, { metadata: { name: 'other' } });
  await t.rejects(checkpoint({ containerId: created }), { code: status.FAILED_PRECONDITION, details: /is created; only a running one/ });
});

test('CheckpointContainer.location: an absolute path of a file in a directory that exists', async (t) => {
  const fixture = await counter(t);
  for (const location of ['', 'relative.tar', `${fixture.dir}/`, join(fixture.dir, 'none', 'x.tar'), fixture.dir]) {
    await t.rejects(fixture.checkpoint({ location }), { code: status.INVALID_ARGUMENT, details: /^location: / }, location);
  }
  await expectNothing(t, fixture);
  // A name that the kernel does not take only shows when the file is made.
  const calls = fixture.shim.containerd.control.calls.length;
  await t.rejects(fixture.checkpoint({ location: join(fixture.dir, 'x'.repeat(250)) }), { code: status.FAILED_PRECONDITION, details: /cannot be written to: ENAMETOOLONG/ });
  t.notOk(fixture.shim.containerd.control.calls.slice(calls).some(({ name }) => name === 'tasks.pause'), 'it was not paused for that');
  await expectNothing(t, fixture);
});

test('CheckpointContainer.timeout: seconds, the configuration\'s for 0; nothing is left and the container goes on', async (t) => {
  const fixture = await counter(t, { change: (config) => ({ ...config, checkpoint: { timeout: 300 } }) });
  await t.rejects(fixture.checkpoint({ timeout: -1n }), { code: status.INVALID_ARGUMENT, details: /^timeout: / });
  for (const [timeout, least, most] of [[1n, 900, 4_000], [0n, 250, 900]] as const) {
    const release = fixture.shim.containerd.control.hang('tasks.checkpoint');
    const began = Date.now();
    await t.rejects(fixture.checkpoint({ timeout }), { code: status.DEADLINE_EXCEEDED });
    const ms = Date.now() - began;
    t.ok(ms >= least && ms < most, `${ms} ms`);
    release();
    await expectNothing(t, fixture);
  }
});

test('R7 checkpoint: without CRIU a FailedPrecondition that says so, and Status says it before', async (t) => {
  let usable = false;
  const message = "criu is not on containerd's PATH (/usr/bin): install CRIU";
  const criuProbe = () => Promise.resolve(usable ? ({ usable, path: '/usr/bin/criu', version: '4.2' } as const) : ({ usable, reason: 'CriuMissing', message } as const));
  const fixture = await counter(t, { node: { criuProbe } });
  const { runtime } = fixture.shim.cri;
  const condition = async () => (await runtime.status({})).status?.conditions.find(({ type }) => type === 'CheckpointReady');
  t.match(await condition(), { status: false, reason: 'CriuMissing', message });
  t.match(JSON.parse((await runtime.status({ verbose: true })).info.checkpoint ?? ''), { criu: { usable: false, message } });
  await t.rejects(fixture.checkpoint(), { code: status.FAILED_PRECONDITION, details: `checkpoint: ${message}` });
  await expectNothing(t, fixture);
  usable = true;
  await fixture.checkpoint();
  t.match(await condition(), { status: true }, 'installed since');
});

test('R7 checkpoint: a runtime that was built without CRIU', async (t) => {
  const fixture = await counter(t, { prepare: ({ ociRuntimes }) => void ociRuntimes.set('runc', { mountOptions: [] }) });
  await t.rejects(fixture.checkpoint(), { code: status.FAILED_PRECONDITION, details: /runtime handler runc has no support for checkpoints/ });
  const { status: told } = await fixture.shim.cri.runtime.status({});
  t.match(told?.conditions.find(({ type }) => type === 'CheckpointReady'), { status: false, reason: 'RuntimeUnsupported' });
});

const CHECKPOINT_STEPS = ['record the checkpoint', 'pause', 'dump the processes', 'read the root file system', 'read the shared memory', 'resume', 'write the archive', 'put the archive in place'];

test('every step of CheckpointContainer has a failpoint', async (t) => {
  const { shim, checkpoint } = await counter(t);
  await checkpoint();
  const reached = shim.failpoints.reached.filter((place) => place.startsWith('CheckpointContainer/'));
  t.same(reached.map((place) => place.slice('CheckpointContainer/'.length)), CHECKPOINT_STEPS);
});

for (const step of CHECKPOINT_STEPS) {
  test(`CheckpointContainer fails at "${step}": the container goes on, nothing is left, and a retry works`, async (t) => {
    const fixture = await counter(t);
    fixture.shim.failpoints.fail(`CheckpointContainer/${step}`);
    await t.rejects(fixture.checkpoint(), { code: status.INTERNAL, details: new RegExp(`${step}: failpoint$`) });
    await expectNothing(t, fixture);
    fixture.shim.failpoints.clear();
    await fixture.checkpoint();
  });

  test(`killed in CheckpointContainer at "${step}": after the restart the container goes on and nothing is left`, async (t) => {
    const fixture = await counter(t);
    const { shim } = fixture;
    await shim.failpoints.holdUntilReached(`CheckpointContainer/${step}`, () => void fixture.checkpoint().catch(() => undefined));
    await shim.killAndRestart();
    await expectNothing(t, fixture);
    await shim.cri.runtime.checkpointContainer({ containerId: fixture.container, location: fixture.location, timeout: 0n });
  });
}

test('a shim that does not resume is asked again until it does', async (t) => {
  const fixture = await counter(t);
  const { control } = fixture.shim.containerd;
  control.fail('tasks.resume', { times: 2 });
  await t.rejects(fixture.checkpoint(), { code: status.UNKNOWN, details: /^resume: / });
  await expectNothing(t, fixture);
});

test('what CRIU says stands in the error', async (t) => {
  const fixture = await counter(t);
  fixture.shim.containerd.control.fail('tasks.checkpoint', { details: 'OCI runtime checkpoint failed', afterwards: true });
  const calls = fixture.checkpoint();
  await t.rejects(calls, { code: status.UNKNOWN, details: /dump the processes: .*OCI runtime checkpoint failed/ });
  await expectNothing(t, fixture);
});

/** Creates a container of the archive in a pod of its own. */
async function restore(shim: Shim, image: string, change: Parameters<Shim['createContainer']>[1] = {}): Promise<{ pod: string; container: string }> {
  const pod = await shim.runPod({ metadata: { name: 'second', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  return { pod, container: await shim.createContainer(pod, { metadata: { name: 'restored' }, image: { image }, logPath: 'restored/0.log', ...change }) };
}

test('CreateContainer of an archive: the layer is there, the processes come back at StartContainer, the images go', async (t) => {
  const { shim, location, checkpoint } = await counter(t);
  await checkpoint();
  const { container } = await restore(shim, location);
  await rm(location);
  t.equal(await readFile(join(rootfs(shim, container), 'count'), 'utf8'), '7');
  t.same(await readdir(join(rootfs(shim, container), 'etc')), ['passwd']);
  const { status: created } = await shim.cri.runtime.containerStatus({ containerId: container });
  t.match(created, { state: 0, imageId: shim.image.id });
  await shim.cri.runtime.startContainer({ containerId: container });
  const { restoredFrom } = shim.containerd.task(NAMESPACE, container);
  t.equal(restoredFrom, join(shim.config.rootDir, 'checkpoints', container, 'restore', 'checkpoint'));
  t.match((await shim.cri.runtime.containerStatus({ containerId: container })).status, { state: 1 });
  t.same(await readdir(join(shim.config.rootDir, 'checkpoints')), [], 'no memory images of what runs');
  t.same([...shim.containerd.state(NAMESPACE).leases.keys()], []);
  await shim.cri.runtime.removeContainer({ containerId: container });
});

test('CreateContainer of an archive: what is set and contradicts the checkpoint is refused, what is unset is the checkpoint\'s', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const process = { command: ['/first'], workingDir: '/srv', envs: [{ key: 'A', value: Buffer.from('1') }] };
  const first = await shim.startContainer(await shim.runPod(), { ...process, linux: { securityContext: { runAsUser: { value: 5n }, noNewPrivs: false } } });
  const location = join(shim.dir, 'first.tar');
  await shim.cri.runtime.checkpointContainer({ containerId: first, location, timeout: 0n });
  await symlink(location, join(shim.dir, 'link.tar'));
  const pod = await shim.runPod({ metadata: { name: 'second', namespace: 'ns', uid: 'uid-2', attempt: 0 }, hostname: 'second' });
  const before = await present(shim);
  const make = (change: DeepPartial<ContainerConfig>) => shim.createContainer(pod, { metadata: { name: 'restored' }, image: { image: join(shim.dir, 'link.tar') }, ...change });
  const security = (securityContext: object) => ({ linux: { securityContext } });
  const refused: readonly [DeepPartial<ContainerConfig>, RegExp][] = [
    [{ command: ['/other'] }, /config\.command and args/],
    [{ workingDir: '/other' }, /config\.working_dir/],
    [security({ runAsUser: { value: 6n } }), /config\.linux\.security_context\.run_as_user/],
    [security({ noNewPrivs: true }), /config\.linux\.security_context\.no_new_privs/],
    [security({ capabilities: { dropCapabilities: ['ALL'] } }), /config\.linux\.security_context\.capabilities/],
  ];
  for (const [change, details] of refused) await t.rejects(make(change), { code: status.FAILED_PRECONDITION, details }, String(details));
  t.same(await present(shim), before);
  const restored = await make({});
  t.match((await shim.cri.runtime.containerStatus({ containerId: restored })).status?.user, { linux: { uid: 5n } });
  t.match(await recordedSpec(shim, restored), { process: { args: ['/first'], cwd: '/srv', user: { uid: 5 } } });
  await shim.cri.runtime.removeContainer({ containerId: restored });
  const same = await make({ ...process, envs: [{ key: 'A', value: Buffer.from('2') }], ...security({ runAsUser: { value: 5n } }) });
  const env = (await recordedSpec(shim, same)).process?.env ?? [];
  t.same(env.filter((entry) => entry.startsWith('A=')), ['A=1'], 'the environment is that of the checkpoint in any case');
});

test('a restore that does not come to its end: the start is late, the container has exited with StartError and can be removed', async (t) => {
  const fixture = await counter(t, { change: (config) => ({ ...config, checkpoint: { timeout: 500 } }) });
  const { shim, location, checkpoint } = fixture;
  await checkpoint();
  const { container } = await restore(shim, location);
  const release = shim.containerd.control.hang('tasks.start', ({ request }) => (request as { containerId: string }).containerId === container);
  await t.rejects(shim.cri.runtime.startContainer({ containerId: container }), { code: status.DEADLINE_EXCEEDED, details: /start the task/ });
  t.match((await shim.cri.runtime.containerStatus({ containerId: container })).status, { state: 2, reason: 'StartError', exitCode: 128 });
  release();
  await shim.cri.runtime.removeContainer({ containerId: container });
  t.same(await readdir(join(shim.config.rootDir, 'checkpoints')), []);
});

test('a checkpoint first does what an earlier one still owes', async (t) => {
  const { shim, container, checkpoint } = await counter(t);
  const refuse = shim.containerd.control.fail('tasks.resume');
  await t.rejects(checkpoint());
  refuse();
  await checkpoint();
  t.equal(taskStatus(shim, container), RUNNING);
});

test('CreateContainer of an image that was made of an archive', async (t) => {
  const { shim, location, checkpoint } = await counter(t);
  await checkpoint();
  const unpacked = t.testdir();
  await extract({ file: location, cwd: unpacked });
  const names = ['config.dump', 'spec.dump', 'rootfs-diff.tar', 'checkpoint/inventory.img'];
  const files = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(unpacked, name), 'utf8')])));
  const image = fakeImage({ files, annotations: { 'org.criu.checkpoint.container.name': 'app' } });
  shim.containerd.addImage(NAMESPACE, 'registry.test/checkpoint:1', image);
  await eventually(async () => {
    if ((await shim.cri.image.imageStatus({ image: { image: 'registry.test/checkpoint:1' } })).image === undefined) throw new Error('not there');
  });
  const { container } = await restore(shim, 'registry.test/checkpoint:1');
  t.equal(await readFile(join(rootfs(shim, container), 'count'), 'utf8'), '7');
  await shim.cri.runtime.startContainer({ containerId: container });
  t.match(shim.containerd.task(NAMESPACE, container).restoredFrom, /restore\/checkpoint$/);
  t.same([...shim.containerd.state(NAMESPACE).leases.keys()], []);
});

test('CreateContainer of what is no checkpoint, or does not fit, is refused and leaves nothing', async (t) => {
  const { shim, dir, location, checkpoint } = await counter(t);
  await checkpoint();
  const pod = await shim.runPod({ metadata: { name: 'second', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  const before = await present(shim);
  const make = (image: string, change = {}) => shim.createContainer(pod, { metadata: { name: 'restored' }, image: { image }, ...change });
  await t.rejects(make(join(dir, 'none.tar')), { code: status.NOT_FOUND });
  await t.rejects(make(dir), { code: status.INVALID_ARGUMENT, details: /no regular file/ });
  const archive = await readFile(location);
  await writeFile(join(dir, 'short.tar'), archive.subarray(0, archive.indexOf('checkpoint/inventory.img') + 514));
  await t.rejects(make(join(dir, 'short.tar')), { code: status.FAILED_PRECONDITION, details: /short\.tar is damaged: TAR_BAD_ARCHIVE/ });
  shim.containerd.control.fail('diff.apply', { code: status.UNKNOWN, details: 'unexpected EOF', times: 1 });
  await t.rejects(make(location), { code: status.FAILED_PRECONDITION, details: /counter\.tar: rootfs-diff\.tar cannot be applied: .*unexpected EOF/ });
  await writeFile(join(dir, 'text'), 'no archive at all');
  await t.rejects(make(join(dir, 'text')), { code: status.FAILED_PRECONDITION, details: /is no checkpoint of a container/ });
  await create({ cwd: dir, file: join(dir, 'other.tar') }, ['text']);
  await t.rejects(make(join(dir, 'other.tar')), { code: status.FAILED_PRECONDITION, details: /it has no config\.dump/ });
  await t.rejects(make(location, { mounts: [{ hostPath: dir, containerPath: '/data' }] }), { code: status.FAILED_PRECONDITION, details: /config\.mounts: the checkpoint knows no mounts at \/data/ });
  await t.rejects(make(location, { tty: true }), { code: status.FAILED_PRECONDITION, details: /config\.tty/ });
  t.same(await present(shim), before);
});

for (const step of ['read the checkpoint', 'bring back the checkpoint', 'write the spec']) {
  test(`CreateContainer of an archive fails or is killed at "${step}": nothing is left`, async (t) => {
    const { shim, location, checkpoint } = await counter(t);
    await checkpoint();
    const pod = await shim.runPod({ metadata: { name: 'second', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
    const before = await present(shim);
    const make = () => shim.createContainer(pod, { metadata: { name: 'restored' }, image: { image: location } });
    shim.failpoints.fail(`CreateContainer/${step}`);
    await t.rejects(make(), { code: status.INTERNAL, details: `${step}: failpoint` });
    t.same(await present(shim), before);
    shim.failpoints.clear();
    await shim.failpoints.holdUntilReached(`CreateContainer/${step}`, () => void make().catch(() => undefined));
    await shim.killAndRestart();
    t.same(await present(shim), before);
    const containerId = await make();
    await shim.cri.runtime.startContainer({ containerId });
  });
}

/** A pod with two running containers, and an empty directory. */
async function pair(t: Test) {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containers = [
    await shim.startContainer(pod, { metadata: { name: 'one' }, logPath: 'one/0.log' }),
    await shim.startContainer(pod, { metadata: { name: 'two' }, logPath: 'two/0.log' }),
  ];
  await writeFile(join(shim.config.stateDir, 'sandboxes', pod, 'shm', 'shared'), 'memory', { mode: 0o640 });
  const outputPath = join(shim.dir, 'output');
  await mkdir(outputPath);
  const request = { podSandboxId: pod, outputPath, containerIds: containers, options: {} };
  const restore = {
    checkpointPath: outputPath,
    config: shim.sandboxConfig({ metadata: { name: 'pod', namespace: 'ns', uid: 'restored', attempt: 0 } }),
    runtimeHandler: '',
    options: {},
    containerConfigs: [shim.containerConfig({ metadata: { name: 'one' } }), shim.containerConfig({ metadata: { name: 'two' }, labels: { restored: 'yes' } })],
  };
  return { shim, pod, containers, outputPath, request, restore, before: await present(shim) };
}

test('CheckpointPod: all are paused before the first is dumped, and all go on', async (t) => {
  const { shim, containers, outputPath, request, before } = await pair(t);
  await shim.cri.runtime.checkpointPod(request);
  t.same((await readdir(outputPath)).sort(), ['one.tar', 'pod.dump', 'pod.options', 'two.tar']);
  t.match(JSON.parse(await readFile(join(outputPath, 'pod.options'), 'utf8')), { version: 1, containers: { one: 'one', two: 'two' } });
  const names = shim.containerd.control.calls.map(({ name }) => name).filter((name) => /^tasks\.(?:pause|checkpoint|resume)$/.test(name));
  t.same(names.slice(0, 6), ['tasks.pause', 'tasks.pause', 'tasks.checkpoint', 'tasks.checkpoint', 'tasks.resume', 'tasks.resume']);
  for (const id of containers) t.equal(taskStatus(shim, id), RUNNING);
  t.same(await present(shim), before);
});

test('CheckpointPod: what it refuses, by field', async (t) => {
  const { shim, pod, containers: [one = '', two = ''], outputPath, request } = await pair(t);
  const { runtime } = shim.cri;
  const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2', attempt: 0 } });
  const foreign = await shim.startContainer(other, { metadata: { name: 'foreign' } });
  const created = await shim.createContainer(pod, { metadata: { name: 'created' } });
  await writeFile(join(shim.dir, 'full'), '');
  const refused = [
    [{ podSandboxId: 'none' }, status.NOT_FOUND],
    [{ outputPath: 'relative' }, status.INVALID_ARGUMENT],
    [{ outputPath: join(outputPath, 'none') }, status.NOT_FOUND],
    [{ outputPath: join(shim.dir, 'full') }, status.INVALID_ARGUMENT],
    [{ outputPath: shim.dir }, status.FAILED_PRECONDITION],
    [{ containerIds: [] }, status.INVALID_ARGUMENT],
    [{ containerIds: [one, one] }, status.INVALID_ARGUMENT],
    [{ containerIds: [one, foreign] }, status.INVALID_ARGUMENT],
    [{ containerIds: [one, two, created] }, status.FAILED_PRECONDITION],
    [{ options: { 'leave-stopped': 'true' } }, status.INVALID_ARGUMENT],
  ] as const;
  for (const [change, code] of refused) await t.rejects(runtime.checkpointPod({ ...request, ...change, containerIds: [...(change as { containerIds?: string[] }).containerIds ?? request.containerIds] }), { code }, JSON.stringify(change));
  t.same(await readdir(outputPath), []);
});

const POD_STEPS = ['record the checkpoint', 'pause', 'dump the processes', 'read the root file system', 'read the shared memory', 'resume', 'write the archive'];

for (const step of POD_STEPS) {
  test(`CheckpointPod fails or is killed at "${step}": both go on and nothing is left`, async (t) => {
    const { shim, containers, outputPath, request, before } = await pair(t);
    const whole = async () => {
      const left = [...(await readdir(outputPath)), ...(await present(shim)).filter((line) => !before.includes(line))];
      if (left.length > 0 || containers.some((id) => taskStatus(shim, id) !== RUNNING)) throw new Error(left.join(', '));
    };
    shim.failpoints.fail(`CheckpointPod/${step}`);
    await t.rejects(shim.cri.runtime.checkpointPod(request), { code: status.INTERNAL, details: `${step}: failpoint` });
    await whole();
    shim.failpoints.clear();
    await shim.failpoints.holdUntilReached(`CheckpointPod/${step}`, () => void shim.cri.runtime.checkpointPod(request).catch(() => undefined));
    await shim.killAndRestart();
    await eventually(whole);
    await shim.cri.runtime.checkpointPod(request);
  });
}

test('CheckpointPod: the caller\'s deadline', async (t) => {
  const { shim, containers, outputPath, request } = await pair(t);
  shim.containerd.control.hang('tasks.checkpoint');
  await t.rejects(shim.cri.runtime.checkpointPod(request, { timeoutMs: 500 }), { code: status.DEADLINE_EXCEEDED });
  await eventually(async () => {
    if ((await readdir(outputPath)).length > 0 || containers.some((id) => taskStatus(shim, id) !== RUNNING)) throw new Error('not yet');
  });
  t.same(await readdir(outputPath), []);
});

test('RestorePod: a sandbox and created containers, by name, that StartContainer restores', async (t) => {
  const { shim, request, restore } = await pair(t);
  const { runtime } = shim.cri;
  await runtime.checkpointPod(request);
  const { podSandboxId, restoredContainers } = await runtime.restorePod(restore);
  t.same(restoredContainers.map(({ name }) => name), ['one', 'two']);
  t.match((await runtime.podSandboxStatus({ podSandboxId })).status, { state: 0, metadata: { uid: 'restored' } });
  for (const { containerId } of restoredContainers) {
    t.match((await runtime.containerStatus({ containerId })).status, { state: 0 });
    await runtime.startContainer({ containerId });
    t.match(shim.containerd.task(NAMESPACE, containerId).restoredFrom, /restore\/checkpoint$/);
  }
  t.match((await runtime.containerStatus({ containerId: restoredContainers[1]?.containerId ?? '' })).status, { labels: { restored: 'yes' } });
  const shared = join(shim.config.stateDir, 'sandboxes', podSandboxId, 'shm', 'shared');
  t.equal(await readFile(shared, 'utf8'), 'memory');
  t.equal((await stat(shared)).mode & 0o777, 0o640);
  t.match(await runtime.restorePod(restore), { podSandboxId, restoredContainers }, 'repeated, it finds them');
  await t.rejects(runtime.restorePod({ ...restore, containerConfigs: restore.containerConfigs.map((config) => ({ ...config, labels: { other: 'x' } })) }), { code: status.ALREADY_EXISTS });
});

test('RestorePod: the pod may have another host name, and its directory may be named by a link; inside no link is followed', async (t) => {
  const { shim, outputPath, request, restore } = await pair(t);
  const { runtime } = shim.cri;
  await runtime.checkpointPod(request);
  const link = join(shim.dir, 'link');
  await symlink(outputPath, link);
  const options = join(outputPath, 'pod.options');
  await rename(options, join(shim.dir, 'secret'));
  await symlink(join(shim.dir, 'secret'), options);
  await t.rejects(runtime.restorePod(restore), { code: status.FAILED_PRECONDITION, details: /pod\.options: ELOOP/ });
  await rm(options);
  await writeFile(options, 'root:secret');
  await t.rejects(runtime.restorePod(restore), { code: status.FAILED_PRECONDITION, details: /pod\.options: it is not JSON$/ });
  await rename(join(shim.dir, 'secret'), options);
  const { restoredContainers } = await runtime.restorePod({ ...restore, checkpointPath: link, config: { ...restore.config, hostname: 'another' } });
  t.equal(restoredContainers.length, 2);
});

test('RestorePod: what it refuses, by field; nothing is made', async (t) => {
  const { shim, outputPath, request, restore } = await pair(t);
  const { runtime } = shim.cri;
  await runtime.checkpointPod(request);
  const before = await present(shim);
  const [one = {}, two = {}] = restore.containerConfigs;
  const empty = join(shim.dir, 'empty');
  await mkdir(empty);
  const refused: readonly [object, status, RegExp][] = [
    [{ checkpointPath: 'relative' }, status.INVALID_ARGUMENT, /^checkpoint_path/],
    [{ checkpointPath: join(outputPath, 'none') }, status.NOT_FOUND, /checkpoint_path/],
    [{ checkpointPath: empty }, status.FAILED_PRECONDITION, /pod\.options/],
    [{ config: {} }, status.INVALID_ARGUMENT, /config\.metadata/],
    [{ runtimeHandler: 'none' }, status.INVALID_ARGUMENT, /runtime_handler/],
    [{ options: { x: 'y' } }, status.INVALID_ARGUMENT, /^options/],
    [{ containerConfigs: [] }, status.INVALID_ARGUMENT, /^container_configs/],
    [{ containerConfigs: [one] }, status.INVALID_ARGUMENT, /^container_configs: the checkpoint has the containers one, two/],
    [{ containerConfigs: [one, one] }, status.INVALID_ARGUMENT, /occurs twice/],
    [{ containerConfigs: [one, { ...two, metadata: { name: '../two' } }] }, status.INVALID_ARGUMENT, /metadata\.name/],
    [{ containerConfigs: [{ ...one, args: ['more'] }, two] }, status.FAILED_PRECONDITION, /container_configs\[0\]\.command and args/],
    [{ containerConfigs: [one, { ...two, workingDir: '/other' }] }, status.FAILED_PRECONDITION, /container_configs\[1\]\.working_dir/],
    [{ containerConfigs: [one, { ...two, envs: [{ key: 'A', value: Buffer.from('b') }] }] }, status.FAILED_PRECONDITION, /container_configs\[1\]\.envs/],
    [{ containerConfigs: [one, { ...two, linux: { securityContext: { runAsUser: { value: 1000n } } } }] }, status.FAILED_PRECONDITION, /run_as_user/],
    [{ containerConfigs: [one, { ...two, mounts: [{ hostPath: shim.dir, containerPath: '/data' }] }] }, status.FAILED_PRECONDITION, /container_configs\[1\]\.mounts/],
  ];
  for (const [change, code, details] of refused) await t.rejects(runtime.restorePod({ ...restore, ...change }), { code, details }, JSON.stringify(Object.keys(change)));
  t.same(await present(shim), before);
});

for (const step of ['read the checkpoint', 'run the sandbox', 'create the containers', 'record that it is restored']) {
  test(`RestorePod fails or is killed at "${step}": no pod is left, and a retry works`, async (t) => {
    const { shim, pod, request, restore } = await pair(t);
    await shim.cri.runtime.checkpointPod(request);
    const before = await present(shim);
    const pods = async () => (await shim.cri.runtime.listPodSandbox({})).items.map(({ id }) => id);
    shim.failpoints.fail(`RestorePod/${step}`);
    await t.rejects(shim.cri.runtime.restorePod(restore), { code: status.INTERNAL, details: new RegExp(`${step}: failpoint`) });
    t.same(await pods(), [pod]);
    t.same(await present(shim), before);
    shim.failpoints.clear();
    await shim.failpoints.holdUntilReached(`RestorePod/${step}`, () => void shim.cri.runtime.restorePod(restore).catch(() => undefined));
    await shim.killAndRestart();
    await eventually(async () => {
      const left = await pods();
      if (left.length > 1) throw new Error(left.join(', '));
    });
    t.same(await present(shim), before);
    const { restoredContainers } = await shim.cri.runtime.restorePod(restore);
    t.equal(restoredContainers.length, 2);
  });
}
