import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContainerState, PodSandboxState } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { attaching } from '@criquet/network-cni/testing';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { test } from 'tap';
import { mount } from '../../src/runtime/mount.js';
import { containerCodec } from '../../src/state/container-record.js';
import { eventually, IMAGE, NAMESPACE, Shim } from './shim-harness.js';

const byName = (name: string) => ({ metadata: { name, namespace: 'ns', uid: name, attempt: 0 } });

async function exited(shim: Shim, containerId: string, ms = 5_000) {
  return eventually(async () => {
    const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
    if (container?.state !== 2) throw new Error('not exited');
    return container;
  }, ms);
}

test('a restart finds every pod and container as they were', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  const ready = await shim.runPod(byName('ready'));
  const stopped = await shim.runPod(byName('stopped'));
  await runtime.stopPodSandbox({ podSandboxId: stopped });
  const created = await shim.createContainer(ready, { metadata: { name: 'created', attempt: 0 } });
  const running = await shim.startContainer(ready, { metadata: { name: 'running', attempt: 0 }, logPath: 'r.log' });
  const ended = await shim.startContainer(ready, { metadata: { name: 'ended', attempt: 0 }, logPath: 'e.log' });
  shim.containerd.process(NAMESPACE, ended).exit(5);
  await exited(shim, ended);
  const picture = async () => ({
    pods: (await shim.cri.runtime.listPodSandbox({})).items,
    containers: (await shim.cri.runtime.listContainers({})).containers,
    podStatus: await Promise.all([ready, stopped].map(async (podSandboxId) => (await shim.cri.runtime.podSandboxStatus({ podSandboxId })).status)),
    containerStatus: await Promise.all(
      [created, running, ended].map(async (containerId) => (await shim.cri.runtime.containerStatus({ containerId })).status),
    ),
  });
  const before = await picture();
  t.match(before.pods.map(({ state }) => state), [0, 1]);
  t.match(before.containers.map(({ state }) => state), [0, 1, 2]);
  await shim.restart();
  t.same(await picture(), before);
  await shim.killAndRestart();
  t.same(await picture(), before, 'also after a kill');
  const beganBefore = before.containerStatus[1]?.startedAt ?? 0n;
  t.ok(beganBefore > 0n);
  await shim.cri.runtime.startContainer({ containerId: created });
  for (const podSandboxId of [ready, stopped]) {
    await shim.cri.runtime.stopPodSandbox({ podSandboxId });
    await shim.cri.runtime.removePodSandbox({ podSandboxId });
  }
  t.same(await shim.leftovers(), []);
});

test('what exited while the daemon was away has its true exit code and time', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  const process = shim.containerd.process(NAMESPACE, containerId);
  await shim.stopServing();
  process.exit(42);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await shim.restart();
  const container = await exited(shim, containerId);
  t.match(container, { exitCode: 42, reason: 'Error' });
  t.ok(Number((BigInt(Date.now()) * 1_000_000n - container.finishedAt) / 1_000_000n) >= 250, 'when it ended, not when it was noticed');
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('its task is left');
  });
});

test('what a container writes before it ends while the daemon is away stands in its log', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  const process = shim.containerd.process(NAMESPACE, containerId);
  await process.stdout('before\nunfini');
  await eventually(async () => {
    if ((await shim.log()).length !== 1) throw new Error('not logged yet');
  });
  await shim.stopServing();
  const keeper = Number(await readFile(join(shim.config.stateDir, 'fifo-keeper.pid'), 'utf8'));
  await process.stdout('shed\nlast words\n');
  await process.stderr('a complaint\n');
  process.exit(3);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await shim.restart();
  t.match(await exited(shim, containerId), { exitCode: 3 });
  const log = await shim.log();
  t.same(
    log.filter((line) => line.startsWith('stdout')),
    ['stdout F before', 'stdout P unfini', 'stdout F shed', 'stdout F last words'],
  );
  t.ok(log.includes('stderr F a complaint'));
  await eventually(async () => {
    const runs = await readlink(`/proc/${keeper}/exe`).then(() => true, () => false);
    if (runs) throw new Error('the keeper still runs');
  });
});

test('a pause process that ended while the daemon was away: NOTREADY', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.stopServing();
  shim.containerd.process(NAMESPACE, pod).exit(0);
  await shim.restart();
  await eventually(async () => {
    if ((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.state !== 1) throw new Error('ready');
  });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('L2 the shim of a container was killed while the daemon was away: exit code 255, Unknown', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  await shim.stopServing();
  shim.containerd.tasks.killShim(NAMESPACE, containerId);
  await shim.restart();
  t.match(await exited(shim, containerId), { exitCode: 255, reason: 'Unknown', message: /lost/ });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a reboot: what ran has ended when the daemon serves, and nobody looks for its output', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { ready, running, ended, created } = await lifeOf(shim);
  shim.logLines.length = 0;
  await shim.reboot();
  const { runtime } = shim.cri;
  const states = async () => (await runtime.listContainers({})).containers.map(({ id, state }) => [id, state]);
  t.same((await states()).sort(), [[created, ContainerState.CONTAINER_CREATED], [running, ContainerState.CONTAINER_EXITED], [ended, ContainerState.CONTAINER_EXITED]].sort(), 'from the first answer on');
  t.match((await runtime.podSandboxStatus({ podSandboxId: ready })).status, { state: PodSandboxState.SANDBOX_NOTREADY });
  t.match((await runtime.containerStatus({ containerId: running })).status, { exitCode: 255, reason: 'Unknown' });
  t.match((await runtime.containerStatus({ containerId: ended })).status, { exitCode: 5, reason: 'Error' }, 'what had ended before keeps its exit code');
  t.same(shim.logLines.filter((line) => /"level":(40|50)|"level":"(warn|error)"/.test(line)), [], 'and there is nothing to warn of');
  await runtime.stopPodSandbox({ podSandboxId: ready });
  await runtime.removePodSandbox({ podSandboxId: ready });
  t.same(await shim.leftovers(), []);
});

/** A pod with a container in each state. */
async function lifeOf(shim: Shim): Promise<Record<'ready' | 'created' | 'running' | 'ended', string>> {
  const ready = await shim.runPod();
  const created = await shim.createContainer(ready, { metadata: { name: 'created', attempt: 0 } });
  const running = await shim.startContainer(ready, { metadata: { name: 'running', attempt: 0 }, logPath: 'r.log' });
  const ended = await shim.startContainer(ready, { metadata: { name: 'ended', attempt: 0 }, logPath: 'e.log' });
  shim.containerd.process(NAMESPACE, ended).exit(5);
  await exited(shim, ended);
  return { ready, created, running, ended };
}

test('the output of a running container goes on into its log, no line lost', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let running: FakeProcess | undefined;
  shim.containerd.program = (process) => void (running = process);
  const containerId = await shim.startContainer(await shim.runPod());
  const process = shim.containerd.process(NAMESPACE, containerId);
  await eventually(() => {
    if (running === undefined) throw new Error('not yet');
  });
  await process.stdout('one\ntwo\nthr');
  await eventually(async () => {
    if ((await shim.log()).length < 2) throw new Error('not logged yet');
  });
  await shim.stopServing();
  await process.stdout('ee\nfour\n');
  await shim.restart();
  await process.stderr('five\n');
  process.exit(0);
  await exited(shim, containerId);
  const lines = await shim.log();
  t.same(lines.slice(0, 2), ['stdout F one', 'stdout F two']);
  const rest = lines.filter((line) => line.startsWith('stdout')).slice(2);
  t.equal(rest.map((line) => line.replace(/^stdout [PF] /, '')).join(''), 'threefour', 'a line that was cut is joined by its P');
  t.ok(lines.includes('stderr F five'));
});

test('ReopenContainerLog works on a container that an earlier daemon started', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  await shim.restart();
  await rm(join(shim.dir, 'logs/app/0.log'));
  await shim.cri.runtime.reopenContainerLog({ containerId });
  await shim.containerd.process(NAMESPACE, containerId).stdout('after\n');
  await eventually(async () => {
    if ((await shim.log())[0] !== 'stdout F after') throw new Error('not yet');
  });
});

test('a log that cannot be opened at the restart: the container is still watched', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  await shim.stopServing();
  await rm(join(shim.dir, 'logs/app'), { recursive: true });
  await writeFile(join(shim.dir, 'logs/app'), 'in the way');
  await shim.restart();
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
  shim.containerd.process(NAMESPACE, containerId).exit(3);
  t.match(await exited(shim, containerId), { exitCode: 3 });
});

test('a DEL that was owed when the daemon stopped is still owed afterwards', async (t) => {
  let refuse = true;
  const attach = attaching('10.1.0.7/24');
  const shim = await Shim.start({
    plugins: {
      net: (call) => {
        if (call.command === 'DEL' && refuse) throw new Error('no DEL today');
        return attach(call);
      },
    },
  });
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await t.rejects(shim.cri.runtime.stopPodSandbox({ podSandboxId: pod }), { code: status.INTERNAL, details: /detach from the pod network/ });
  t.equal((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.state, 1);
  await shim.restart();
  refuse = false;
  await eventually(() => {
    if (shim.netns.pins.size > 0) throw new Error('still attached');
  });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a pod that only lost its pause process keeps its network until somebody stops it', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.startContainer(pod);
  await shim.stopServing();
  shim.containerd.process(NAMESPACE, pod).exit(0);
  await shim.restart();
  await shim.restart();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  t.equal(shim.netns.pins.size, 1, 'its container still runs in it');
});

test('N2 the network namespace is gone: DEL without it, by the cached configuration', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.stopServing();
  shim.netns.pins.clear();
  shim.containerd.tasks.killShim(NAMESPACE, pod);
  await rm(join(shim.config.cni.confDir, '10-test.conflist'));
  await shim.restart();
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  t.match(shim.plugins.calls.at(-1), { command: 'DEL', containerId: pod, netns: '', config: { name: 'test' } });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

const damages: readonly [string, (value: Buffer) => Buffer][] = [
  ['cut off', (value) => value.subarray(0, value.length / 2)],
  ['of a newer version', (value) => Buffer.from(value.toString().replace('"version":1', '"version":99'))],
  ['empty', () => Buffer.alloc(0)],
  ['of nonsense', () => Buffer.from('null')],
];
for (const [how, damage] of damages) {
  test(`records ${how}: visible, removable, and harmless to others`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const labels = { 'io.kubernetes.pod.name': 'sick', 'io.kubernetes.pod.namespace': 'ns', 'io.kubernetes.pod.uid': 'u1' };
    const sick = await shim.runPod({ metadata: { name: 'sick', namespace: 'ns', uid: 'u1' }, labels });
    const sickContainer = await shim.startContainer(sick, { labels: { 'io.kubernetes.container.name': 'app' } });
    const healthy = await shim.runPod(byName('healthy'));
    const healthyContainer = await shim.startContainer(healthy, { logPath: 'h.log' });
    await shim.stopServing();
    for (const id of [sick, sickContainer]) {
      for (const any of Object.values(shim.containerd.state(NAMESPACE).containers.get(id)?.extensions ?? {})) any.value = damage(Buffer.from(any.value));
    }
    await shim.restart();
    const { runtime } = shim.cri;
    t.match((await runtime.listPodSandbox({})).items.find(({ id }) => id === sick), {
      state: 1,
      metadata: { name: 'sick', namespace: 'ns', uid: 'u1' },
      labels,
    });
    t.match((await runtime.containerStatus({ containerId: sickContainer })).status, { state: 2, exitCode: 255, reason: 'Unknown', metadata: { name: 'app' } });
    t.equal((await runtime.podSandboxStatus({ podSandboxId: healthy })).status?.state, 0);
    t.equal((await runtime.containerStatus({ containerId: healthyContainer })).status?.state, 1);
    t.ok(shim.containerd.state(NAMESPACE).tasks.has(sickContainer), 'what runs is left alone until somebody removes it');
    await runtime.removeContainer({ containerId: sickContainer });
    t.notOk(shim.containerd.state(NAMESPACE).tasks.has(sickContainer));
    await runtime.stopPodSandbox({ podSandboxId: sick });
    await runtime.removePodSandbox({ podSandboxId: sick });
    t.equal(await shim.runPod({ metadata: { name: 'sick', namespace: 'ns', uid: 'u1' }, labels }) === sick, false, 'its name is free');
    for (const { id } of (await runtime.listPodSandbox({})).items) await runtime.removePodSandbox({ podSandboxId: id });
    t.same(await shim.leftovers(), []);
  });
}

test('containers of others in the namespace are none of criquet\'s business', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const other = shim.otherClient();
  const [record] = [...shim.containerd.state(NAMESPACE).containers.values()];
  t.equal(record, undefined);
  const pod = await shim.runPod();
  const mine = await other.containers.get(pod);
  const { spec } = mine;
  if (spec === undefined) throw new Error('no spec');
  await other.containers.create({ ...mine, spec, id: 'foreign', extensions: {} });
  await other.containers.create({ ...mine, spec, id: 'plain', labels: {}, extensions: {} });
  await shim.restart();
  t.same((await shim.cri.runtime.listPodSandbox({})).items.map(({ id }) => id), [pod]);
});

test('L7 a shim that does not answer does not hold up the start, and all recovers when it does', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const stuckPod = await shim.runPod(byName('stuck'));
  const stuckContainer = await shim.startContainer(stuckPod, { logPath: 's.log' });
  const pod = await shim.runPod(byName('fine'));
  const containerId = await shim.startContainer(pod);
  await shim.stopServing();
  const hung = ({ request }: { request: unknown }) => [stuckPod, stuckContainer].includes((request as { containerId: string }).containerId);
  const releases = ['tasks.get', 'tasks.wait', 'tasks.kill', 'tasks.delete'].map((call) => shim.containerd.control.hang(call, hung));
  const began = Date.now();
  await shim.restart();
  t.ok(Date.now() - began < 8_000, 'the limit of one object, not the sum');
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
  t.equal((await shim.cri.runtime.containerStatus({ containerId: stuckContainer })).status?.state, 1, 'shown as it was');
  t.equal((await shim.cri.runtime.podSandboxStatus({ podSandboxId: stuckPod })).status?.state, 0);
  for (const release of releases) release();
  shim.containerd.process(NAMESPACE, stuckContainer).exit(7);
  t.match(await exited(shim, stuckContainer), { exitCode: 7 });
  shim.containerd.process(NAMESPACE, stuckPod).exit(0);
  await eventually(async () => {
    if ((await shim.cri.runtime.podSandboxStatus({ podSandboxId: stuckPod })).status?.state !== 1) throw new Error('ready');
  });
});

test('T2 more in the records than one message may hold', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const annotations = { big: 'x'.repeat(200_000) };
  const ids: string[] = [];
  for (let index = 0; index < 100; index++) ids.push(await shim.runPod({ ...byName(`pod-${index}`), annotations }));
  await shim.stopServing();
  await shim.serve();
  // 20 MB of them: one list would be more than a message may hold.
  const filtered = await shim.cri.runtime.listPodSandbox({ filter: { id: ids[75] ?? '' } });
  t.equal(filtered.items.length, 1);
});

test('T2 big lists: 3,000 exited containers with annotations of 6 KiB', { timeout: 120_000 }, async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pods = [await shim.runPod(byName('many')), await shim.runPod(byName('few'))];
  const annotations = { note: 'x'.repeat(6 * 1024) };
  const exitedIn = async (pod: string) => {
    const containerId = await shim.startContainer(pod, { annotations });
    shim.containerd.process(NAMESPACE, containerId).exit(4);
    await exited(shim, containerId);
    return containerId;
  };
  const likes = [await exitedIn(pods[0] ?? ''), await exitedIn(pods[1] ?? '')];
  await shim.stopServing();
  const { containers } = shim.containerd.state(NAMESPACE);
  for (let index = 2; index < 3_000; index++) {
    const record = containers.get(likes[index < 2_400 ? 0 : 1] ?? '');
    const extension = record?.extensions[containerCodec.key];
    if (record === undefined || extension === undefined) throw new Error('no record');
    const id = index.toString(16).padStart(64, '0');
    const { typeUrl, value } = containerCodec.encode({ ...containerCodec.decode(extension), id, name: `copy-${index}` });
    containers.set(id, { ...record, id, extensions: { [containerCodec.key]: { typeUrl, value: Buffer.from(value) } } });
  }
  await shim.restart();
  const { runtime, image } = shim.cri;
  const many = (await runtime.listContainers({ filter: { podSandboxId: pods[0] ?? '' } })).containers;
  t.equal(many.length, 2_399, 'a reply of nearly 16 MiB');
  t.ok(many.every((container) => container.state === 2 && container.annotations.note?.length === 6 * 1024));
  await t.rejects(runtime.listContainers({}), { code: status.RESOURCE_EXHAUSTED, details: /grpc\.max_message_size/ }, 'one of more is refused');
  const seen = new Set<string>();
  for await (const { containers: some } of runtime.streamContainers({})) for (const { id } of some) seen.add(id);
  t.equal(seen.size, 3_000, 'StreamContainers has no such limit');
  const request = { image: { image: IMAGE, annotations: { note: 'x'.repeat(16 * 1024 * 1024 - 1_000) } } };
  t.ok((await image.imageStatus(request)).image, 'a request of nearly 16 MiB');
  t.match((await runtime.containerStatus({ containerId: `${'0'.repeat(61)}bb7` })).status, { exitCode: 4 });
  t.match((await runtime.podSandboxStatus({ podSandboxId: pods[0] ?? '' })).status, { state: 0 });
});

test('mounts that a killed daemon left for looking into an image are taken away', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.stopServing();
  const left = join(shim.config.stateDir, 'lookup', 'rootfs-abc');
  await mkdir(left, { recursive: true });
  mount('tmpfs', left, 'tmpfs', 0, '');
  t.ok((await shim.leftovers()).some((line) => line.includes(left)));
  await shim.restart();
  t.same(await shim.leftovers(), []);
});

test('what a daemon that was killed left half-written in the CNI cache goes with its pod', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const release = await shim.failpoints.holdUntilReached('RunPodSandbox/attach to the pod network', () => void shim.runPod().catch(() => undefined));
  const [id = ''] = shim.containerd.state(NAMESPACE).containers.keys();
  const { cacheDir } = shim.config.cni;
  await mkdir(cacheDir, { recursive: true });
  await writeFile(join(cacheDir, `.test-${id}-eth0.tmp`), '{"kin');
  await writeFile(join(cacheDir, `.test-${'a'.repeat(64)}-eth0.tmp`), 'of somebody who writes');
  await shim.killAndRestart();
  await eventually(async () => {
    if ((await readdir(cacheDir)).includes(`.test-${id}-eth0.tmp`)) throw new Error('it is left');
  });
  t.same((await readdir(cacheDir)).filter((name) => name !== 'results'), [`.test-${'a'.repeat(64)}-eth0.tmp`]);
  release();
});
