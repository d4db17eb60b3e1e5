import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { test, type Test } from 'tap';
import { CALL_STEPS } from '../../src/steps/registry.js';
import { RUNNING, taskStatus, present } from './checkpoint-fixture.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

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

/** All but the last, which never fails: what it cannot do is owed. */
const POD_STEPS = CALL_STEPS.CheckpointPod.steps.filter((step) => step !== 'end the checkpoint');

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

for (const step of CALL_STEPS.RestorePod.steps) {
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

for (const undo of CALL_STEPS.RestorePod.undo) {
  test(`RestorePod fails at its end and is killed after it has undone "${undo}": no pod is left, and a retry works`, async (t) => {
    const { shim, pod, request, restore } = await pair(t);
    await shim.cri.runtime.checkpointPod(request);
    const before = await present(shim);
    shim.failpoints.fail('RestorePod/record that it is restored', { moment: 'after' });
    await shim.failpoints.holdUntilReached(`RestorePod/undo: ${undo}`, () => void shim.cri.runtime.restorePod(restore).catch(() => undefined), 'after');
    await shim.killAndRestart();
    await eventually(async () => {
      const left = (await shim.cri.runtime.listPodSandbox({})).items.map(({ id }) => id);
      if (left.some((id) => id !== pod)) throw new Error(left.join(', '));
    });
    t.same(await present(shim), before);
    t.equal((await shim.cri.runtime.restorePod(restore)).restoredContainers.length, 2);
  });
}

test('RestorePod is repeated before what a killed one left is gone: its containers do not stand in the way', async (t) => {
  const { shim, pod, request, restore } = await pair(t);
  await shim.cri.runtime.checkpointPod(request);
  shim.failpoints.fail('RestorePod/record that it is restored', { moment: 'after' });
  await shim.failpoints.holdUntilReached('RestorePod/undo: record that it is half restored', () => void shim.cri.runtime.restorePod(restore).catch(() => undefined), 'after');
  shim.failpoints.fail('RemovePodSandbox/remove the containers');
  await shim.killAndRestart();
  const left = (await shim.cri.runtime.listPodSandbox({})).items.map(({ id }) => id).filter((id) => id !== pod);
  t.equal(left.length, 1, 'it is still there');
  shim.failpoints.clear();
  const { podSandboxId, restoredContainers } = await shim.cri.runtime.restorePod(restore);
  t.equal(restoredContainers.length, 2);
  t.same((await shim.cri.runtime.listPodSandbox({})).items.map(({ id }) => id).sort(), [pod, podSandboxId].sort());
});
