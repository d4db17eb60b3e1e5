import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerConfig, DeepPartial } from '@criquet/cri-api';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { status } from '@grpc/grpc-js';
import { create, extract } from 'tar';
import { test } from 'tap';
import { counter, rootfs, present } from './checkpoint-fixture.js';
import { recordedSpec } from './recorded-spec.js';
import { about, eventually, NAMESPACE, Shim } from './shim-harness.js';

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
  const fixture = await counter(t, { change: (config) => ({ ...config, checkpoint: { ...config.checkpoint, timeout: 500 } }) });
  const { shim, location, checkpoint } = fixture;
  await checkpoint();
  const { container } = await restore(shim, location);
  const release = shim.containerd.control.hang('tasks.start', about(container));
  await t.rejects(shim.cri.runtime.startContainer({ containerId: container }), { code: status.DEADLINE_EXCEEDED, details: /start the task/ });
  t.match((await shim.cri.runtime.containerStatus({ containerId: container })).status, { state: 2, reason: 'StartError', exitCode: 128 });
  release();
  await shim.cri.runtime.removeContainer({ containerId: container });
  t.same(await readdir(join(shim.config.rootDir, 'checkpoints')), []);
});

for (const restoreImages of [true, false]) {
  test(`CreateContainer of an image that was made of an archive, checkpoint.restore_images ${restoreImages}`, async (t) => {
    const { shim, location, checkpoint } = await counter(t, { change: (config) => ({ ...config, checkpoint: { ...config.checkpoint, restoreImages } }) });
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
    if (!restoreImages) {
      // Its processes would have what the checkpoint says of user and capabilities, and not what the pod's security context says (GHSA-p7v4-vr35-mj6f).
      const refused = restore(shim, 'registry.test/checkpoint:1');
      await t.rejects(refused, { code: status.FAILED_PRECONDITION, details: /registry\.test\/checkpoint:1 is a checkpoint, and checkpoint\.restore_images is off/ });
      t.same([...shim.containerd.state(NAMESPACE).leases.keys()], []);
      return;
    }
    const { container } = await restore(shim, 'registry.test/checkpoint:1');
    t.equal(await readFile(join(rootfs(shim, container), 'count'), 'utf8'), '7');
    await shim.cri.runtime.startContainer({ containerId: container });
    t.match(shim.containerd.task(NAMESPACE, container).restoredFrom, /restore\/checkpoint$/);
    t.same([...shim.containerd.state(NAMESPACE).leases.keys()], []);
  });
}

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

for (const step of ['read the checkpoint', 'bring back the checkpoint', 'write the spec'] as const) {
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
