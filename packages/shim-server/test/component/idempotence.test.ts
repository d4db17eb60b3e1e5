import { status } from '@grpc/grpc-js';
import { CriCallError } from '@criquet/cri-api';
import { attaching, type FakePlugin } from '@criquet/network-cni/testing';
import { test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

const attach = attaching('10.1.0.7/24');

/** A plugin whose first ADD waits until `release`. */
function slowFirstAdd(): { plugin: FakePlugin; release: () => void } {
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  let adds = 0;
  const plugin: FakePlugin = async (call) => {
    if (call.command === 'ADD' && ++adds === 1) await released;
    return attach(call);
  };
  return { plugin, release };
}

/** What a call ends with, its error too. */
const outcome = (call: Promise<unknown>) => call.catch((error: unknown) => error);

const count = (shim: Shim, command: string) => shim.plugins.calls.filter((call) => call.command === command).length;

test('RunPodSandbox again with the same configuration returns the same pod while it is ready', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ labels: { a: '1', b: '2' } });
  t.equal(await shim.runPod({ labels: { b: '2', a: '1' } }), pod, 'the order of labels does not matter');
  t.equal(count(shim, 'ADD'), 1);
  await shim.restart();
  t.equal(await shim.runPod({ labels: { a: '1', b: '2' } }), pod, 'also after a restart');
});

test('RunPodSandbox again with another configuration is refused, and the pod is left alone', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await t.rejects(shim.runPod({ hostname: 'another' }), { code: status.ALREADY_EXISTS, details: new RegExp(pod) });
  const request = { config: shim.sandboxConfig(), runtimeHandler: 'runc' };
  await t.rejects(shim.cri.runtime.runPodSandbox(request), { code: status.ALREADY_EXISTS }, 'the handler is part of it');
  t.equal((await shim.cri.runtime.podSandboxStatus({ podSandboxId: pod })).status?.state, 0);
});

test('a stopped pod keeps its name until it is removed; the next attempt has another name', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await t.rejects(shim.runPod(), { code: status.ALREADY_EXISTS, details: /stopped/ });
  const next = await shim.runPod({ metadata: { name: 'pod', namespace: 'ns', uid: 'uid-1', attempt: 1 } });
  t.not(next, pod);
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.not(await shim.runPod(), pod);
});

test('callers that ask for the same pod at once share one creation', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pods = await Promise.all(Array.from({ length: 10 }, () => shim.runPod()));
  t.equal(new Set(pods).size, 1);
  t.equal(count(shim, 'ADD'), 1);
  t.equal(shim.containerd.state(NAMESPACE).containers.size, 1);
});

test('another configuration while the first is being made is refused', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let first: Promise<string> | undefined;
  const release = await shim.failpoints.holdUntilReached('RunPodSandbox/attach to the pod network', () => (first = shim.runPod()));
  await t.rejects(shim.runPod({ hostname: 'another' }), { code: status.ALREADY_EXISTS });
  release();
  t.match(await first, /^[0-9a-f]{64}$/);
});

test('L3 RunPodSandbox outlives its caller: a retry joins, ADDs and DELs balance', async (t) => {
  const { plugin, release } = slowFirstAdd();
  const shim = await Shim.start({ plugins: { net: plugin } });
  t.teardown(() => shim.close());
  const config = shim.sandboxConfig();
  const late = { code: status.DEADLINE_EXCEEDED };
  await t.rejects(shim.cri.runtime.runPodSandbox({ config }, { timeoutMs: 200 }), late);
  await t.rejects(shim.cri.runtime.runPodSandbox({ config }, { timeoutMs: 200 }), late);
  t.same((await shim.cri.runtime.listPodSandbox({})).items, [], 'nothing to see yet');
  const during = shim.runPod();
  release();
  const pod = await during;
  t.equal(await shim.runPod(), pod, 'a retry afterwards finds it');
  t.equal(count(shim, 'ADD'), 1);
  await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.equal(count(shim, 'DEL'), 1);
  t.same(await shim.leftovers(), []);
});

test('L3 the plugin fails after all: the name is free again', async (t) => {
  let adds = 0;
  const shim = await Shim.start({
    plugins: {
      net: async (call) => {
        if (call.command !== 'ADD' || ++adds > 1) return attach(call);
        await new Promise((resolve) => setTimeout(resolve, 400));
        throw new Error('no address left');
      },
    },
  });
  t.teardown(() => shim.close());
  await t.rejects(shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig() }, { timeoutMs: 100 }), { code: status.DEADLINE_EXCEEDED });
  await t.rejects(shim.runPod(), { code: status.INTERNAL, details: /no address left/ }, 'who joins is told what happened');
  t.same(await shim.leftovers(), []);
  t.match(await shim.runPod(), /^[0-9a-f]{64}$/);
});

test('N1 the caller cancels during ADD: the pod is finished for the retry', async (t) => {
  const { plugin, release } = slowFirstAdd();
  const shim = await Shim.start({ plugins: { net: plugin } });
  t.teardown(() => shim.close());
  const abort = new AbortController();
  const cancelled = shim.cri.runtime.runPodSandbox({ config: shim.sandboxConfig() }, { signal: abort.signal });
  await eventually(() => {
    if (count(shim, 'ADD') === 0) throw new Error('no ADD yet');
  });
  abort.abort();
  await t.rejects(cancelled, { code: status.CANCELLED });
  release();
  await shim.cri.runtime.removePodSandbox({ podSandboxId: await shim.runPod() });
  t.same(await shim.leftovers(), []);
});

test('CreateContainer: the same as RunPodSandbox', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const ids = await Promise.all(Array.from({ length: 10 }, () => shim.createContainer(pod)));
  t.equal(new Set(ids).size, 1);
  const [id = ''] = ids;
  t.equal(await shim.createContainer(pod), id);
  await t.rejects(shim.createContainer(pod, { command: ['other'] }), { code: status.ALREADY_EXISTS, details: new RegExp(id) });
  t.not(await shim.createContainer(pod, { metadata: { name: 'app', attempt: 1 } }), id);
  await shim.cri.runtime.startContainer({ containerId: id });
  t.equal(await shim.createContainer(pod), id, 'while it lives');
  await shim.cri.runtime.stopContainer({ containerId: id });
  await t.rejects(shim.createContainer(pod), { code: status.ALREADY_EXISTS, details: /exited/ });
  await shim.cri.runtime.removeContainer({ containerId: id });
  t.not(await shim.createContainer(pod), id);
});

test('L4 slow CreateContainer: the error names the step, retries join, one container in the end', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const release = shim.containerd.control.hang('snapshots.prepare');
  const request = { podSandboxId: pod, config: shim.containerConfig(), sandboxConfig: shim.sandboxConfig() };
  for (let attempt = 0; attempt < 3; attempt++) {
    await t.rejects(shim.cri.runtime.createContainer(request, { timeoutMs: 150 }), { code: status.DEADLINE_EXCEEDED });
  }
  t.ok(shim.logLines.some((line) => line.includes('prepare the snapshot') && line.includes('CreateContainer')), 'the log says which step it is');
  t.same((await shim.cri.runtime.listContainers({})).containers, []);
  await shim.runPod({ metadata: { name: 'other', namespace: 'ns', uid: 'uid-2' } });
  release();
  const id = await shim.createContainer(pod);
  t.same([...shim.containerd.state(NAMESPACE).snapshotsOf('overlayfs').keys()].filter((key) => /^[0-9a-f]{64}$/.test(key)), [id]);
  t.equal((await shim.cri.runtime.listContainers({})).containers.length, 1);
});

test('a step that fails waits for the one beside it before anything is undone', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  let failed: Promise<unknown> | undefined;
  shim.failpoints.fail('RunPodSandbox/write the pod files');
  const release = await shim.failpoints.holdUntilReached('RunPodSandbox/pin the network namespace', () => (failed = outcome(shim.runPod())));
  await new Promise((resolve) => setTimeout(resolve, 100));
  release();
  t.match(await failed, { code: status.INTERNAL, details: 'write the pod files: failpoint' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.same(await shim.leftovers(), []);
});

test('the same in StartContainer and ExecSync', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const containerId = await shim.createContainer(pod);
  const before = await shim.leftovers();
  let failed: Promise<unknown> | undefined;
  shim.failpoints.fail('StartContainer/find the root file system');
  let release = await shim.failpoints.holdUntilReached(
    'StartContainer/open the log and FIFOs',
    () => (failed = outcome(shim.cri.runtime.startContainer({ containerId }))),
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  release();
  t.match(await failed, { code: status.INTERNAL, details: 'find the root file system: failpoint' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.same(await shim.leftovers(), before);

  shim.failpoints.clear();
  const running = await shim.startContainer(pod, { metadata: { name: 'running', attempt: 0 } });
  const beforeExec = await shim.leftovers();
  shim.failpoints.fail('ExecSync/read the process of the container');
  release = await shim.failpoints.holdUntilReached(
    'ExecSync/open the FIFOs',
    () => (failed = outcome(shim.cri.runtime.execSync({ containerId: running, cmd: ['x'] }))),
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  release();
  t.match(await failed, { code: status.INTERNAL, details: 'read the process of the container: failpoint' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.same(await shim.leftovers(), beforeExec);
  t.same(await shim.ioFiles(running), ['stderr', 'stdout'], 'only the container\'s own FIFOs');
});

test('the pod is removed while a container is being created in it: nothing is left', async (t) => {
  for (const step of ['check the configuration', 'write the record', 'prepare the snapshot', 'look up the user', 'write the spec'] as const) {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    let creating: Promise<unknown> | undefined;
    const release = await shim.failpoints.holdUntilReached(`CreateContainer/${step}`, () => {
      creating = outcome(shim.createContainer(pod));
    });
    await shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
    await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
    release();
    t.ok((await creating) instanceof CriCallError, `${step}: it fails`);
    t.same(await shim.leftovers(), [], step);
  }
});

test('a container is removed while it is being started', async (t) => {
  for (const step of ['open the log and FIFOs', 'create the task', 'start the task'] as const) {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    const before = await shim.leftovers();
    const containerId = await shim.createContainer(pod);
    let starting: Promise<unknown> | undefined;
    const release = await shim.failpoints.holdUntilReached(`StartContainer/${step}`, () => {
      starting = shim.cri.runtime.startContainer({ containerId });
    });
    const removal = shim.cri.runtime.removeContainer({ containerId });
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    await Promise.all([starting, removal]);
    t.same(await shim.leftovers(), before, step);
  }
});

test('a start that was queued before a removal runs first, and the removal still ends', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const before = await shim.leftovers();
  const containerId = await shim.createContainer(pod);
  shim.containerd.control.fail('tasks.create', { code: status.UNAVAILABLE, times: 1 });
  let first: Promise<unknown> | undefined;
  const release = await shim.failpoints.holdUntilReached('StartContainer/create the task', () => {
    first = outcome(shim.cri.runtime.startContainer({ containerId }));
  });
  const removal = shim.cri.runtime.removeContainer({ containerId }, { timeoutMs: 3_000 });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const second = shim.cri.runtime.startContainer({ containerId });
  await new Promise((resolve) => setTimeout(resolve, 50));
  release();
  t.match(await first, { code: status.UNAVAILABLE });
  await second;
  await removal;
  t.same(await shim.leftovers(), before);
});

test('L5 20 parallel RemoveContainer of one id all succeed', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const before = await shim.leftovers();
  const containerId = await shim.startContainer(pod);
  await Promise.all(Array.from({ length: 20 }, () => shim.cri.runtime.removeContainer({ containerId })));
  t.same(await shim.leftovers(), before);
});

test('L5 a removal that failed can be repeated', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const before = await shim.leftovers();
  const containerId = await shim.startContainer(pod);
  shim.containerd.control.fail('snapshots.remove', { code: status.FAILED_PRECONDITION, details: 'device or resource busy', times: 1 });
  await t.rejects(shim.cri.runtime.removeContainer({ containerId }), {
    code: status.FAILED_PRECONDITION,
    details: /remove the snapshot: .*device or resource busy/,
  });
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 2 }, 'it is still there');
  await shim.cri.runtime.removeContainer({ containerId });
  t.same(await shim.leftovers(), before);
});

test('StartContainer whose caller has gone before it begins, and which then fails: nobody hears of it, and the daemon lives', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.startContainer(await shim.runPod());
  for (let turn = 0; turn < 20; turn++) {
    const gone = new AbortController();
    // Running already: the start is refused, after its caller has left.
    const call = shim.cri.runtime.startContainer({ containerId }, { signal: gone.signal });
    if (turn % 2 === 0) gone.abort();
    else setImmediate(() => gone.abort());
    await call.catch(() => undefined);
  }
  t.match(await shim.cri.runtime.version({}), { runtimeName: 'criquet' });
});
