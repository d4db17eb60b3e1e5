import { spawn } from 'node:child_process';
import { status } from '@grpc/grpc-js';
import { Signal } from '@criquet/cri-api';
import { fakeImage } from '@criquet/runtime-containerd/testing';
import { test } from 'tap';
import { about, eventually, NAMESPACE, Shim } from './shim-harness.js';

const TERM = 15;
const KILL = 9;

/** A pod with a container that takes no notice of SIGTERM. */
async function withStubborn(shim: Shim): Promise<{ pod: string; containerId: string; signals: () => number[] }> {
  shim.containerd.program = (process) => process.onSignal(() => undefined);
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  const process = shim.containerd.process(NAMESPACE, containerId);
  await eventually(() => {
    if (process.status !== 2) throw new Error('does not run');
  });
  return { pod, containerId, signals: () => process.signals };
}

/** Resolves when the stop signal has come to the process. */
async function signalled(signals: () => number[]): Promise<void> {
  await eventually(() => {
    if (signals().length === 0) throw new Error('no signal yet');
  });
}

test('StopContainer: the stop signal, and the exit is recorded when the call returns', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  const process = shim.containerd.process(NAMESPACE, containerId);
  await shim.cri.runtime.stopContainer({ containerId, timeout: 30n });
  t.same(process.signals, [TERM]);
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 128 + TERM, reason: 'Error' });
  await shim.cri.runtime.stopContainer({ containerId, timeout: 30n });
  t.same(process.signals, [TERM], 'stopping it again does nothing');
});

test('StopContainer: SIGKILL to all its processes when the time is over', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerId, signals } = await withStubborn(shim);
  const began = Date.now();
  await shim.cri.runtime.stopContainer({ containerId, timeout: 1n });
  t.ok(Date.now() - began >= 990, 'not before');
  t.same(signals(), [TERM, KILL]);
  const kill = shim.containerd.control.requests('tasks.kill').at(-1);
  t.match(kill, { signal: KILL, all: true });
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 137, reason: 'Error' });
});

test('StopContainer: a timeout below 0 is refused and stops nothing', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerId, signals } = await withStubborn(shim);
  await t.rejects(shim.cri.runtime.stopContainer({ containerId, timeout: -5n }), { code: status.INVALID_ARGUMENT, details: 'timeout: -5 is negative' });
  t.same(signals(), []);
  await t.rejects(shim.cri.runtime.stopContainer({ containerId: 'unknown', timeout: -1n }), { code: status.INVALID_ARGUMENT, details: /^timeout: / });
});

test('L9 timeout 0 kills at once', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerId, signals } = await withStubborn(shim);
  await shim.cri.runtime.stopContainer({ containerId, timeout: 0n });
  t.same(signals(), [KILL]);
});

test('an absurd timeout is a very long one', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerId, signals } = await withStubborn(shim);
  const stop = shim.cri.runtime.stopContainer({ containerId, timeout: 2n ** 63n - 1n });
  await signalled(signals);
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.same(signals(), [TERM]);
  await shim.cri.runtime.stopContainer({ containerId, timeout: 0n });
  await stop;
});

for (const second of [0n, 1n]) {
  test(`L1 second stop is faster: 300 s, then ${second} s`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const { containerId, signals } = await withStubborn(shim);
    const slow = shim.cri.runtime.stopContainer({ containerId, timeout: 300n });
    await signalled(signals);
    const began = Date.now();
    const fast = shim.cri.runtime.stopContainer({ containerId, timeout: second });
    await Promise.all([slow, fast]);
    t.ok(Date.now() - began < Number(second) * 1000 + 1500, 'both return with the earlier kill');
    t.same(signals(), [TERM, KILL], 'the stop signal is sent once');
  });
}

test('L1 a slower second stop does not put the kill off', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerId, signals } = await withStubborn(shim);
  const fast = shim.cri.runtime.stopContainer({ containerId, timeout: 1n });
  await signalled(signals);
  const began = Date.now();
  await Promise.all([fast, shim.cri.runtime.stopContainer({ containerId, timeout: 300n })]);
  t.ok(Date.now() - began < 2_500);
  t.same(signals(), [TERM, KILL]);
});

test('L1 RemovePodSandbox during a slow stop', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { pod, containerId, signals } = await withStubborn(shim);
  const slow = shim.cri.runtime.stopContainer({ containerId, timeout: 300n });
  await signalled(signals);
  await Promise.all([slow, shim.cri.runtime.removePodSandbox({ podSandboxId: pod })]);
  t.same(signals(), [TERM, KILL]);
  t.same(await shim.leftovers(), []);
});

test('a stop goes on when its caller goes away', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerId, signals } = await withStubborn(shim);
  await t.rejects(shim.cri.runtime.stopContainer({ containerId, timeout: 1n }, { timeoutMs: 200 }), { code: status.DEADLINE_EXCEEDED });
  await eventually(async () => {
    const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
    if (container?.state !== 2) throw new Error('still runs');
  });
  t.same(signals(), [TERM, KILL]);
});

const images: readonly [string | undefined, Signal, number, Signal][] = [
  [undefined, Signal.RUNTIME_DEFAULT, TERM, Signal.SIGTERM],
  ['SIGUSR1', Signal.RUNTIME_DEFAULT, 10, Signal.SIGUSR1],
  ['SIGRTMIN+3', Signal.RUNTIME_DEFAULT, 37, Signal.SIGRTMINPLUS3],
  ['2', Signal.RUNTIME_DEFAULT, 2, Signal.SIGINT],
  ['SIGUSR1', Signal.SIGQUIT, 3, Signal.SIGQUIT],
];
for (const [ofImage, asked, number, reported] of images) {
  test(`L9 stop signal: CRI ${Signal[asked]}, image ${ofImage}: signal ${number}, also when the image is gone`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const image = fakeImage({ config: { Cmd: ['/app'], ...(ofImage === undefined ? {} : { StopSignal: ofImage }) } });
    shim.containerd.addImage(NAMESPACE, 'registry.test/signal:1', image);
    await eventually(async () => {
      const { image: known } = await shim.cri.image.imageStatus({ image: { image: 'registry.test/signal:1' } });
      if (known === undefined) throw new Error('not yet known');
    });
    shim.containerd.program = (process) => process.onSignal((signal) => process.exit(signal === number ? 0 : 1));
    const pod = await shim.runPod();
    const containerId = await shim.startContainer(pod, { image: { image: 'registry.test/signal:1' }, stopSignal: asked });
    await shim.cri.image.removeImage({ image: { image: 'registry.test/signal:1' } });
    t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.stopSignal, reported);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await shim.cri.runtime.stopContainer({ containerId, timeout: 30n });
    t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.exitCode, 0);
  });
}

test('L10 the shim leaves between the kill and its answer', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.startContainer(pod);
  shim.containerd.program = (process) => process.onSignal(() => process.exit(3));
  const { control } = shim.containerd;
  for (const call of ['tasks.kill', 'tasks.delete']) control.fail(call, { details: 'ttrpc: closed', afterwards: true });
  await shim.cri.runtime.stopContainer({ containerId, timeout: 30n });
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 143 });
  await shim.cri.runtime.removeContainer({ containerId });
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('L10 the shim leaves while the daemon waits: the exit code comes from the event', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { containerd } = shim;
  containerd.control.fail('tasks.wait', { details: 'ttrpc: closed', afterwards: true });
  const containerId = await shim.startContainer(await shim.runPod());
  containerd.process(NAMESPACE, containerId).exit(42);
  await eventually(async () => {
    const { status: container } = await shim.cri.runtime.containerStatus({ containerId });
    if (container?.state !== 2) throw new Error('still runs');
    t.equal(container.exitCode, 42);
  });
});

test('a signal that containerd refuses fails the stop; the next one works, and so does the shutdown', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  shim.containerd.control.fail('tasks.kill', { code: status.UNAVAILABLE, times: 2 });
  await t.rejects(shim.cri.runtime.stopContainer({ containerId, timeout: 30n }), { code: status.UNAVAILABLE });
  await t.rejects(shim.cri.runtime.stopContainer({ containerId, timeout: 0n }), { code: status.UNAVAILABLE });
  await shim.restart();
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
  await shim.cri.runtime.stopContainer({ containerId, timeout: 30n });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 2);
});

test('L7 a hung shim: the stop of its container is late, the rest goes on, and all recovers', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, containerd: { ...config.containerd, callTimeout: 60_000 } }) });
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const stuck = await shim.startContainer(pod);
  const other = await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2' } });
  const release = shim.containerd.control.hang('tasks.kill', about(stuck));
  await t.rejects(shim.cri.runtime.stopContainer({ containerId: stuck, timeout: 0n }, { timeoutMs: 300 }), { code: status.DEADLINE_EXCEEDED });
  await t.rejects(shim.cri.runtime.removeContainer({ containerId: stuck }, { timeoutMs: 300 }), { code: status.DEADLINE_EXCEEDED });
  await t.rejects(shim.cri.runtime.stopPodSandbox({ podSandboxId: pod }, { timeoutMs: 300 }), { code: status.DEADLINE_EXCEEDED });
  t.equal((await shim.cri.runtime.listContainers({})).containers.length, 1);
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: other });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: other });
  release();
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await shim.leftovers(), []);
});

test('L7 a hung shim: with patience the pod can be removed, its shim is killed and no other', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, containerd: { ...config.containerd, callTimeout: 60_000 } }) });
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.startContainer(pod);
  const shimProcess = (id: string, namespace = NAMESPACE) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', '--', '-namespace', namespace, '-id', id], { argv0: 'containerd-shim-test', stdio: 'ignore' });
    t.teardown(() => child.kill('SIGKILL'));
    return child;
  };
  const own = shimProcess(pod);
  const others = [shimProcess('other'), shimProcess(pod, 'elsewhere')];
  const calls = ['tasks.get', 'tasks.kill', 'tasks.wait', 'tasks.delete'] as const;
  const releases = calls.map((call) => shim.containerd.control.hang(call));
  own.once('exit', () => releases.forEach((release) => void release()));
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.equal(own.signalCode, 'SIGKILL');
  t.same(others.map(({ signalCode }) => signalCode), [null, null]);
  t.same(await shim.leftovers(), []);
});

test('a process that does not end after SIGKILL fails the stop with DEADLINE_EXCEEDED', async (t) => {
  const shim = await Shim.start({ change: (config) => ({ ...config, container: { ...config.container, stopTimeout: 300 } }) });
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  // Its kill is taken and does nothing.
  const process = shim.containerd.process(NAMESPACE, containerId);
  process.signal = (signal) => void process.signals.push(signal);
  await t.rejects(shim.cri.runtime.stopContainer({ containerId, timeout: 0n }), { code: status.DEADLINE_EXCEEDED, details: /SIGKILL/ });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
  process.exit(137);
  await shim.cri.runtime.removeContainer({ containerId });
});
