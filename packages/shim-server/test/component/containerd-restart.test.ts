import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { eventually, IMAGE, NAMESPACE, Shim } from './shim-harness.js';

const UNAVAILABLE = { code: status.UNAVAILABLE };

/** Both ways of containerd's absence: the socket refuses, and after a while it is there again. */
async function back(shim: Shim): Promise<void> {
  await shim.containerd.listen();
  await eventually(async () => {
    const { status: now } = await shim.cri.runtime.status({});
    if (now?.conditions.find(({ type }) => type === 'RuntimeReady')?.status !== true) throw new Error('not ready');
  });
}

test('while containerd is away: lists and status answer, the rest is UNAVAILABLE; afterwards everything works', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime, image } = shim.cri;
  const pod = await shim.runPod();
  const created = await shim.createContainer(pod, { metadata: { name: 'created', attempt: 0 }, logPath: 'c.log' });
  const running = await shim.startContainer(pod);
  shim.containerd.stop();
  await eventually(async () => {
    const { status: now } = await runtime.status({});
    if (now?.conditions.find(({ type }) => type === 'RuntimeReady')?.status !== false) throw new Error('still ready');
  });
  const { status: away } = await runtime.status({});
  t.match(away?.conditions.find(({ type }) => type === 'RuntimeReady'), { status: false, reason: /Containerd/, message: /.+/ });
  t.equal((await runtime.version({})).version, '0.1.0');
  t.equal((await runtime.listPodSandbox({})).items[0]?.state, 0);
  t.equal((await runtime.listContainers({})).containers.length, 2);
  t.equal((await runtime.podSandboxStatus({ podSandboxId: pod })).status?.state, 0);
  t.equal((await runtime.containerStatus({ containerId: running })).status?.state, 1);
  t.equal((await image.listImages({})).images.length, 1);
  t.equal((await image.imageStatus({ image: { image: IMAGE } })).image?.id, shim.image.id);

  await t.rejects(shim.runPod({ metadata: { name: 'next', namespace: 'ns', uid: 'u2' } }), UNAVAILABLE);
  await t.rejects(shim.createContainer(pod, { metadata: { name: 'next', attempt: 0 } }), UNAVAILABLE);
  await t.rejects(runtime.startContainer({ containerId: created }), UNAVAILABLE);
  await t.rejects(runtime.execSync({ containerId: running, cmd: ['x'] }), UNAVAILABLE);
  await t.rejects(runtime.stopContainer({ containerId: running, timeout: 1n }), UNAVAILABLE);
  await t.rejects(image.pullImage({ image: { image: IMAGE } }), UNAVAILABLE);
  await t.rejects(image.removeImage({ image: { image: IMAGE } }), UNAVAILABLE);
  t.equal((await runtime.containerStatus({ containerId: created })).status?.state, 0, 'a start that did not reach containerd is no failed one');

  await back(shim);
  await shim.runPod({ metadata: { name: 'next', namespace: 'ns', uid: 'u2' } });
  await shim.createContainer(pod, { metadata: { name: 'next', attempt: 0 } });
  await runtime.startContainer({ containerId: created });
  t.equal((await runtime.execSync({ containerId: running, cmd: ['x'] })).exitCode, 0);
  await runtime.stopContainer({ containerId: running, timeout: 1n });
  t.match((await runtime.containerStatus({ containerId: running })).status, { state: 2, exitCode: 143 });
  for (const { id } of (await runtime.listPodSandbox({})).items) {
    await runtime.stopPodSandbox({ podSandboxId: id });
    await runtime.removePodSandbox({ podSandboxId: id });
  }
  // What was refused while containerd was away is taken back in the background. A look at a task without a record lends it one meanwhile.
  const nothingLeft = eventually(async () => {
    const left = await shim.leftovers();
    if (left.length > 0) throw new Error(left.join());
  }, 8_000);
  await t.resolves(nothingLeft, 'nothing is left');
});

test('exits during and after containerd\'s absence are noticed', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const first = await shim.startContainer(pod, { metadata: { name: 'first', attempt: 0 }, logPath: '1.log' });
  const second = await shim.startContainer(pod, { metadata: { name: 'second', attempt: 0 }, logPath: '2.log' });
  shim.containerd.stop();
  await shim.containerd.process(NAMESPACE, first).stdout('while away\n');
  shim.containerd.process(NAMESPACE, first).exit(11);
  await back(shim);
  shim.containerd.process(NAMESPACE, second).exit(12);
  shim.containerd.process(NAMESPACE, pod).exit(0);
  for (const [containerId, exitCode] of [[first, 11], [second, 12]] as const) {
    await eventually(async () => {
      const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
      if (container?.state !== 2) throw new Error('not exited');
      t.equal(container.exitCode, exitCode);
    }, 8_000);
  }
  t.same(await shim.log('1.log'), ['stdout F while away'], 'logs do not need containerd');
  await eventually(async () => {
    if ((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.state !== 1) throw new Error('ready');
  });
});

test('a start whose undo cannot reach containerd, made again: nothing of the first stays open', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.createContainer(pod);
  const { control } = shim.containerd;
  for (const call of ['tasks.create', 'tasks.kill']) control.fail(call, { ...UNAVAILABLE, times: 1, afterwards: call === 'tasks.create' });
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), UNAVAILABLE);
  await shim.cri.runtime.startContainer({ containerId });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
  const open = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  t.same(open.filter((path) => path.includes(containerId) || path.startsWith(join(shim.dir, 'logs'))), []);
});

test('a start that comes while containerd is still at work on an earlier one of the container waits for that', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.createContainer(pod);
  shim.containerd.control.fail('tasks.create', { code: status.UNKNOWN, details: `mkdir /run/containerd/io.containerd.runtime.v2.task/k8s.io/${containerId}: file exists`, times: 3 });
  await shim.cri.runtime.startContainer({ containerId });
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 1 });
});

test('what containerd makes after it was taken back, because it hung, goes as well', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, containerd: { ...config.containerd, callTimeout: 300 } }) });
  t.teardown(() => shim.close());
  const { control } = shim.containerd;
  const removals = [control.delay('containers.create', 600), control.delay('leases.create', 600)];
  const late = { code: status.DEADLINE_EXCEEDED };
  await t.rejects(shim.runPod(), late);
  await t.rejects(shim.cri.image.pullImage({ image: { image: IMAGE } }), late);
  for (const remove of removals) remove();
  const { containers, leases } = shim.containerd.state(NAMESPACE);
  await eventually(() => {
    if (containers.size === 0 || leases.size === 0) throw new Error('not made yet');
  });
  await eventually(() => {
    if (containers.size > 0 || leases.size > 0) throw new Error('still there');
  }, 15_000);
  t.same(await shim.leftovers(), []);
});

test('images that came and went during containerd\'s absence are known afterwards', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.containerd.stop();
  const image = fakeImage({ files: { new: 'x' } });
  shim.containerd.state(NAMESPACE).images.delete(IMAGE);
  shim.containerd.addImage(NAMESPACE, 'registry.test/new:1', image);
  await back(shim);
  await eventually(async () => {
    const { images } = await shim.cri.image.listImages({});
    if (images.map(({ id }) => id).join() !== image.id) throw new Error('not yet');
  });
});

test('containerd goes away in the middle of RunPodSandbox: what could not be taken back is, when it is there again', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let call: Promise<unknown> | undefined;
  const release = await shim.failpoints.holdUntilReached('RunPodSandbox/create the pause process', () => {
    call = shim.runPod().catch((error: unknown) => error);
  });
  shim.containerd.stop();
  release();
  t.match(await call, UNAVAILABLE);
  t.match((await shim.cri.runtime.listPodSandbox({})).items, [{ state: 1 }], 'it is visible');
  await back(shim);
  await eventually(async () => {
    const left = await shim.leftovers();
    if (left.length > 0) throw new Error(left.join());
  }, 8_000);
  t.same((await shim.cri.runtime.listPodSandbox({})).items, []);
});

test('containerd goes away in the middle of a pull', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const image = fakeImage({ files: { new: 'x' } });
  shim.containerd.registry.set('registry.test/new:1', { image, stall: 'downloading' });
  const pull = shim.cri.image.pullImage({ image: { image: 'registry.test/new:1' } });
  pull.catch(() => undefined);
  await eventually(() => {
    if (shim.containerd.control.requests('transfer.transfer').length === 0) throw new Error('not begun');
  });
  shim.containerd.stop();
  await t.rejects(pull, UNAVAILABLE);
  await back(shim);
  shim.containerd.registry.set('registry.test/new:1', { image });
  t.equal((await shim.cri.image.pullImage({ image: { image: 'registry.test/new:1' } })).imageRef, image.id);
});

test('a stop that was waiting when containerd went away', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.run((process) => process.onSignal(() => undefined));
  const containerId = await shim.startContainer(await shim.runPod());
  await new Promise((resolve) => setTimeout(resolve, 50));
  const stop = shim.cri.runtime.stopContainer({ containerId, timeout: 2n });
  stop.catch(() => undefined);
  await eventually(() => {
    if (shim.containerd.process(NAMESPACE, containerId).signals.length === 0) throw new Error('no signal');
  });
  // The answer to the signal has come as well.
  await new Promise((resolve) => setTimeout(resolve, 300));
  shim.containerd.stop();
  await back(shim);
  await stop;
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 137 });
});
