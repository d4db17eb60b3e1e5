import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { extract } from 'tar';
import { test } from 'tap';
import { unmount } from '../../src/runtime/mount.js';
import { CALL_STEPS } from '../../src/steps/registry.js';
import { RUNNING, counter, taskStatus, entries, present, expectNothing } from './checkpoint-fixture.js';

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
  const fixture = await counter(t, { change: (config) => ({ ...config, checkpoint: { ...config.checkpoint, timeout: 300 } }) });
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

/** All but the last, which never fails: what it cannot do is owed. */
const CHECKPOINT_STEPS = CALL_STEPS.CheckpointContainer.steps.filter((step) => step !== 'end the checkpoint');

test('every step of CheckpointContainer has a failpoint', async (t) => {
  const { shim, checkpoint } = await counter(t);
  await checkpoint();
  const reached = shim.failpoints.reached.filter((place) => place.startsWith('CheckpointContainer/'));
  t.same(reached.map((place) => place.slice('CheckpointContainer/'.length)), [...CHECKPOINT_STEPS, 'end the checkpoint']);
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

test('a checkpoint first does what an earlier one still owes', async (t) => {
  const { shim, container, checkpoint } = await counter(t);
  const refuse = shim.containerd.control.fail('tasks.resume');
  await t.rejects(checkpoint());
  refuse();
  await checkpoint();
  t.equal(taskStatus(shim, container), RUNNING);
});

test('CheckpointContainer whose pod goes away meanwhile: FAILED_PRECONDITION, and nothing is left', async (t) => {
  const fixture = await counter(t);
  const { shim, pod } = fixture;
  let call: Promise<unknown> = Promise.resolve();
  const release = await shim.failpoints.holdUntilReached('CheckpointContainer/read the shared memory', () => {
    call = fixture.checkpoint();
    call.catch(() => undefined);
  });
  const state = join(shim.config.stateDir, 'sandboxes', pod);
  await unmount(join(state, 'shm'));
  await rm(state, { recursive: true });
  release();
  await t.rejects(call, { code: status.FAILED_PRECONDITION, details: /sandbox [0-9a-f]{64} was stopped or removed meanwhile/ });
  await expectNothing(t, { ...fixture, before: await present(shim) });
});
