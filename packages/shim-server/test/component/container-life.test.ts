import { readFile, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { NamespaceMode } from '@criquet/cri-api';
import { decodeSpec } from '@criquet/runtime-containerd';
import type { FakeProcess } from '@criquet/runtime-containerd/testing';
import { test } from 'tap';
import { about, eventually, IMAGE, NAMESPACE, Shim } from './shim-harness.js';

async function exited(shim: Shim, containerId: string, ms = 5_000) {
  return eventually(async () => {
    const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
    if (container?.state !== 2) throw new Error('not exited');
    return container;
  }, ms);
}

const spec = (shim: Shim, id: string) => decodeSpec(shim.containerd.state(NAMESPACE).containers.get(id)?.spec as never);

test('a container from CreateContainer to RemoveContainer', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { runtime } = shim.cri;
  shim.run(async (process) => {
    await process.stdout('out\n');
    await process.stderr('err\n');
  });
  const pod = await shim.runPod();
  const containerId = await shim.createContainer(pod, { labels: { a: 'b' }, annotations: { c: 'd' } });
  t.match(containerId, /^[0-9a-f]{64}$/);
  const { status: created } = await runtime.containerStatus({ containerId });
  t.match(created, {
    state: 0, startedAt: 0n, finishedAt: 0n, exitCode: 0, reason: '', metadata: { name: 'app', attempt: 0 },
    image: { image: IMAGE }, imageId: shim.image.id, labels: { a: 'b' }, annotations: { c: 'd' }, logPath: join(shim.dir, 'logs/app/0.log'),
  });
  await runtime.startContainer({ containerId });
  const { status: running } = await runtime.containerStatus({ containerId });
  t.match(running, { state: 1, finishedAt: 0n });
  t.ok((running?.startedAt ?? 0n) >= (running?.createdAt ?? 0n));
  shim.containerd.process(NAMESPACE, containerId).exit(0);
  const ended = await exited(shim, containerId);
  t.match(ended, { exitCode: 0, reason: 'Completed', message: '', startedAt: running?.startedAt });
  t.ok(ended.finishedAt >= ended.startedAt);
  t.same(new Set(await shim.log()), new Set(['stdout F out', 'stderr F err']));
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('task');
  });
  t.match((await runtime.listContainers({})).containers, [{ id: containerId, podSandboxId: pod, state: 2, imageId: shim.image.id }]);
  await runtime.removeContainer({ containerId });
  t.same((await runtime.listContainers({})).containers, []);
  await t.rejects(runtime.containerStatus({ containerId }), { code: status.NOT_FOUND });
  t.same(await shim.log(), await shim.log(), 'the log stays');
});

for (const [code, reason] of [[0, 'Completed'], [1, 'Error'], [137, 'Error'], [143, 'Error'], [255, 'Error']] as const) {
  test(`exit code ${code} is ${reason}`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    shim.run((process) => process.exit(code));
    const containerId = await shim.startContainer(await shim.runPod());
    t.match(await exited(shim, containerId), { exitCode: code, reason });
  });
}

for (const [code, reason] of [[137, 'OOMKilled'], [143, 'Error'], [0, 'Completed']] as const) {
  test(`R1 the kernel killed a process for its memory, and the container ended with ${code}: ${reason}`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const containerId = await shim.startContainer(await shim.runPod());
    shim.containerd.tasks.oom(NAMESPACE, containerId);
    await new Promise((resolve) => setTimeout(resolve, 100));
    shim.containerd.process(NAMESPACE, containerId).exit(code);
    t.match(await exited(shim, containerId), { exitCode: code, reason });
  });
}

test('a creation whose undo fails is undone in the background', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const before = await shim.leftovers();
  shim.failpoints.fail('CreateContainer/look up the user');
  shim.containerd.control.fail('snapshots.remove', { code: status.FAILED_PRECONDITION, details: 'busy', times: 1 });
  await t.rejects(shim.createContainer(pod), { code: status.INTERNAL, details: 'look up the user: failpoint' });
  t.not((await shim.leftovers()).length, before.length, 'something is left');
  await eventually(async () => {
    if ((await shim.leftovers()).length > before.length) throw new Error('still left');
  });
  shim.failpoints.clear();
  t.match(await shim.createContainer(pod), /^[0-9a-f]{64}$/);
});

test('the PID namespace of another container of the pod: only of one that runs', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'u2' } });
  const target = await shim.createContainer(pod);
  const debug = (targetId: string) => ({
    metadata: { name: 'debug', attempt: 0 },
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.TARGET, targetId } } },
  });
  await t.rejects(shim.createContainer(pod, debug(target)), { code: status.FAILED_PRECONDITION, details: /target_id.*does not run/ });
  await t.rejects(shim.createContainer(other, debug(target)), { code: status.INVALID_ARGUMENT, details: /target_id.*same pod/ });
  await shim.cri.runtime.startContainer({ containerId: target });
  // The fake's processes have made-up numbers: this one is there.
  Object.defineProperty(shim.containerd.process(NAMESPACE, target).init, 'pid', { value: process.pid });
  await shim.restart();
  const debugging = await shim.createContainer(pod, debug(target));
  t.match(spec(shim, debugging).linux?.namespaces?.find(({ type }) => type === 'pid'), { path: `/proc/${process.pid}/ns/pid` });
});

test('what containerd says when it cannot create the task: StartError with its message', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.createContainer(pod);
  const details = 'failed to create shim task: OCI runtime create failed: exec: "/app": no such file or directory';
  shim.containerd.control.fail('tasks.create', { code: status.UNKNOWN, details, times: 1 });
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.UNKNOWN, details: /no such file or directory/ });
  const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
  t.match(container, { state: 2, exitCode: 128, reason: 'StartError', message: /no such file or directory/ });
  t.ok((container?.finishedAt ?? 0n) > 0n);
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.FAILED_PRECONDITION });
  await shim.restart();
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 128, reason: 'StartError' });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('a start whose undo fails leaves nothing when the container is removed', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.createContainer(pod);
  shim.containerd.control.fail('tasks.start', { details: 'no start', times: 1, when: about(containerId) });
  shim.containerd.control.fail('tasks.delete', { details: 'no delete', times: 1 });
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.UNKNOWN, details: /no start/ });
  await shim.cri.runtime.removeContainer({ containerId });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('containerd is away for a moment during a start: the next start works', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.createContainer(await shim.runPod());
  const { control } = shim.containerd;
  control.fail('tasks.start', { code: status.UNAVAILABLE, times: 1, when: about(containerId) });
  control.fail('tasks.kill', { code: status.UNAVAILABLE, times: 1 });
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.UNAVAILABLE });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 0, 'it can still be started');
  t.ok(shim.containerd.state(NAMESPACE).tasks.has(containerId), 'what the undo could not take back');
  await shim.cri.runtime.startContainer({ containerId });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
});

test('only a created container can be started', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.FAILED_PRECONDITION, details: /running/ });
  await shim.cri.runtime.stopContainer({ containerId });
  await t.rejects(shim.cri.runtime.startContainer({ containerId }), { code: status.FAILED_PRECONDITION, details: /exited/ });
});

test('T4 exit handling fails once: tried again with growing pauses', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  const { control } = shim.containerd;
  control.fail('containers.update', { code: status.UNKNOWN, times: 2 });
  control.fail('tasks.delete', { code: status.UNKNOWN, details: 'busy', times: 2 });
  shim.containerd.process(NAMESPACE, containerId).exit(9);
  t.match(await exited(shim, containerId), { exitCode: 9 });
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('task');
  });
  await shim.restart();
  t.match(await exited(shim, containerId), { exitCode: 9 }, 'and it is written down');
});

test('a task that containerd does not delete: a removal says so, and works when it does', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  const works = shim.containerd.control.fail('tasks.delete', { code: status.UNKNOWN, details: 'busy' });
  shim.containerd.process(NAMESPACE, containerId).exit(9);
  t.match(await exited(shim, containerId), { exitCode: 9 });
  await t.rejects(shim.cri.runtime.removeContainer({ containerId }, { timeoutMs: 20_000 }), { code: status.UNKNOWN, details: /^delete the task: .*busy$/ });
  works();
  await shim.cri.runtime.removeContainer({ containerId });
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('task');
  });
});

test('a wait that is never answered: the exit comes from the event', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  t.teardown(shim.containerd.control.hang('tasks.wait'));
  const containerId = await shim.startContainer(pod);
  shim.containerd.process(NAMESPACE, containerId).exit(6);
  t.match(await exited(shim, containerId), { exitCode: 6, reason: 'Error' });
});

test('the last output of a process is in the log when its exit is told', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.run(async (process: FakeProcess) => {
    for (let line = 0; line < 2_000; line++) await process.stdout(`line ${line}\n`);
    process.exit(0);
  });
  const containerId = await shim.startContainer(await shim.runPod());
  await exited(shim, containerId);
  const lines = await shim.log();
  t.equal(lines.length, 2_000);
  t.equal(lines.at(-1), 'stdout F line 1999');
});

test('a child that holds the streams open does not keep its container from having exited', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let process: FakeProcess | undefined;
  shim.run((started) => void (process = started));
  const containerId = await shim.startContainer(await shim.runPod());
  await eventually(() => {
    if (process === undefined) throw new Error('not yet');
  });
  // Its streams stay open: the exit is told and nobody closes the FIFOs.
  const streams = (process as unknown as { streams: { close: () => Promise<void> } }).streams;
  const close = streams.close.bind(streams);
  streams.close = () => Promise.resolve();
  process?.exit(4);
  t.match(await exited(shim, containerId, 4_000), { exitCode: 4 });
  await close();
});

test('a terminal has one stream', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.run(async (process) => {
    await process.stdout('out\r\n');
    await process.stderr('err\r\n');
    process.exit(0);
  });
  const containerId = await shim.startContainer(await shim.runPod(), { tty: true, stdin: true });
  await exited(shim, containerId);
  t.same(await shim.log(), ['stdout F out\r', 'stdout F err\r']);
  const [request] = shim.containerd.control.requests('tasks.create').slice(-1) as { terminal: boolean; stdin: string; stderr: string }[];
  t.match(request, { terminal: true, stdin: /\/stdin$/, stderr: '' });
  t.equal(spec(shim, containerId).process?.terminal, true);
});

test('a container without a log path keeps no log, and is not blocked', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.run(async (process) => {
    await process.stdout(Buffer.alloc(1024 * 1024, 'x'));
    process.exit(0);
  });
  const containerId = await shim.startContainer(await shim.runPod(), { logPath: '' });
  t.equal((await exited(shim, containerId)).exitCode, 0);
  t.same(await readdir(join(shim.dir, 'logs')).catch((): string[] => []), []);
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.logPath, '');
});

test('G2 rotation: the new file exists when ReopenContainerLog returns; G3 the directory is made', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod(), { logPath: 'a/b/c/0.log' });
  const process = shim.containerd.process(NAMESPACE, containerId);
  const log = join(shim.dir, 'logs/a/b/c/0.log');
  await process.stdout('before\n');
  await eventually(async () => {
    if ((await readFile(log, 'utf8')) === '') throw new Error('not yet');
  });
  await rename(log, `${log}.1`);
  await shim.cri.runtime.reopenContainerLog({ containerId });
  t.equal(await readFile(log, 'utf8'), '');
  await process.stdout('after\n');
  process.exit(0);
  await exited(shim, containerId);
  t.match(await readFile(`${log}.1`, 'utf8'), /^\S+ stdout F before\n$/);
  t.match(await readFile(log, 'utf8'), /^\S+ stdout F after\n$/);
  await rename(log, `${log}.2`);
  await t.rejects(shim.cri.runtime.reopenContainerLog({ containerId }), { code: status.FAILED_PRECONDITION });
  await t.rejects(readFile(log), { code: 'ENOENT' }, 'a stopped container gets no new file');
});

test('the command: of the container, over that of the image; environment and user come together', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const plain = await shim.createContainer(pod);
  t.match(spec(shim, plain).process, { args: ['/app'], cwd: '/', user: { uid: 0, gid: 0 } });
  t.ok(spec(shim, plain).process?.env?.includes('FROM=image'));
  const own = await shim.createContainer(pod, {
    metadata: { name: 'own', attempt: 0 },
    command: ['/bin/x'], args: ['1'], workingDir: '/w', envs: [{ key: 'FROM', value: Buffer.from('config') }],
    linux: { securityContext: { runAsUsername: 'app' } },
  });
  t.match(spec(shim, own).process, { args: ['/bin/x', '1'], cwd: '/w', user: { uid: 1000, gid: 1000, additionalGids: [1000, 2000] } });
  t.same(spec(shim, own).process?.env?.filter((entry) => entry.startsWith('FROM=')), ['FROM=config']);
  const { status: container } = await shim.cri.runtime.containerStatus({ containerId: own });
  t.match(container?.user?.linux, { uid: 1000n, gid: 1000n });
});

test('the second container of an image and user needs no look into it, and has the same user', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const ids: string[] = [];
  for (const name of ['one', 'two']) {
    ids.push(await shim.createContainer(pod, { metadata: { name, attempt: 0 }, linux: { securityContext: { runAsUsername: 'app' } } }));
  }
  t.equal(shim.failpoints.reached.filter((place) => place === 'CreateContainer/look up the user').length, 1);
  t.same(ids.map((id) => spec(shim, id).process?.user), [spec(shim, ids[0] ?? '').process?.user, spec(shim, ids[0] ?? '').process?.user]);
  await shim.killAndRestart();
  t.match((await shim.cri.runtime.containerStatus({ containerId: ids[1] ?? '' })).status, { state: 0, user: { linux: { uid: 1000n } } }, 'a kill loses nothing of it');
});

test('L2 the shim of a pod with two containers is killed: both have exited within seconds, all is removed', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const first = await shim.startContainer(pod, { metadata: { name: 'first', attempt: 0 }, logPath: '1.log' });
  const second = await shim.startContainer(pod, { metadata: { name: 'second', attempt: 0 }, logPath: '2.log' });
  for (const id of [first, second, pod]) shim.containerd.tasks.killShim(NAMESPACE, id);
  t.match(await exited(shim, first), { exitCode: 137 });
  t.match(await exited(shim, second), { exitCode: 137 });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('two pods live side by side', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const names = Array.from({ length: 8 }, (_, index) => `pod-${index}`);
  await Promise.all(
    names.map(async (name) => {
      const metadata = { name, namespace: 'ns', uid: name, attempt: 0 };
      const podSandboxId = await shim.runPod({ metadata });
      const containerId = await shim.startContainer(podSandboxId, { logPath: `${name}.log` });
      await shim.containerd.process(NAMESPACE, containerId).stdout(`${name}\n`);
      await shim.cri.runtime.stopPodSandbox({ podSandboxId });
      t.same(await shim.log(`${name}.log`), [`stdout F ${name}`]);
      await shim.cri.runtime.removePodSandbox({ podSandboxId });
    }),
  );
  t.same(await shim.leftovers(), []);
});
