import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { endEverything } from './call-scenarios.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

const START = 'PauseStart/start the pause process';
const READY = 0;
const NOT_READY = 1;
/** containerd.v1.types.Status */
const CREATED = 1;
const RUNNING = 2;

function pauseStatus(shim: Shim, pod: string): number {
  return shim.containerd.process(NAMESPACE, pod).status;
}

async function sandboxState(shim: Shim, podSandboxId: string): Promise<number | undefined> {
  return (await shim.cri.runtime.podSandboxStatus({ podSandboxId })).status?.state;
}

/** A pod whose pause process is created and not started; `release` lets it be started. */
async function heldPod(shim: Shim): Promise<{ pod: string; release: () => void }> {
  let pod = '';
  const release = await shim.failpoints.holdUntilReached(START, () => {
    void shim.runPod().then((id) => (pod = id));
  });
  await eventually(() => {
    if (pod === '') throw new Error('no answer yet');
  });
  return { pod, release };
}

test('RunPodSandbox answers before the pause process is started; a container is created before, and started after', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { pod, release } = await heldPod(shim);
  t.equal(pauseStatus(shim, pod), CREATED);
  t.equal(await sandboxState(shim, pod), READY);
  const containerId = await shim.createContainer(pod);
  let started = false;
  const start = shim.cri.runtime.startContainer({ containerId }).then(() => (started = true));
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(started, false);
  t.equal(shim.containerd.process(NAMESPACE, containerId).status, CREATED);
  release();
  await start;
  t.equal(pauseStatus(shim, pod), RUNNING);
  t.same(await endEverything(shim), []);
});

test('a pause process that cannot be started: the sandbox is not ready, runs no container, and can be removed', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  shim.containerd.control.fail('tasks.start', { code: status.UNKNOWN, times: 1 });
  const pod = await shim.runPod();
  await eventually(async () => {
    if ((await sandboxState(shim, pod)) !== NOT_READY) throw new Error('still ready');
  });
  await t.rejects(shim.createContainer(pod), { code: status.FAILED_PRECONDITION });
  t.same(await endEverything(shim), []);
});

test('a container that waits for a pause process that cannot be started is not started', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { pod, release } = await heldPod(shim);
  const containerId = await shim.createContainer(pod);
  shim.containerd.control.fail('tasks.start', { code: status.UNKNOWN, times: 1 });
  const start = shim.cri.runtime.startContainer({ containerId });
  start.catch(() => undefined);
  release();
  await t.rejects(start, { code: status.FAILED_PRECONDITION, details: /is not ready/ });
  t.same(await endEverything(shim), []);
});

test('an answer that got lost: what runs is taken for started', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { pod, release } = await heldPod(shim);
  shim.containerd.control.fail('tasks.start', { code: status.UNAVAILABLE, times: 1, afterwards: true });
  release();
  await shim.pauseRuns(pod);
  await shim.startContainer(pod);
  t.equal(await sandboxState(shim, pod), READY);
  t.same(await endEverything(shim), []);
});

test('StopPodSandbox waits for a start that is under way, and leaves nothing', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { pod, release } = await heldPod(shim);
  const stop = shim.cri.runtime.stopPodSandbox({ podSandboxId: pod });
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(pauseStatus(shim, pod), CREATED);
  release();
  await stop;
  t.same(await endEverything(shim), []);
});

for (const moment of ['before', 'after'] as const) {
  test(`killed ${moment} the pause process is started: the next daemon finds the sandbox ready, and it runs`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    let pod = '';
    await shim.failpoints.holdUntilReached(START, () => void shim.runPod().then((id) => (pod = id)), moment);
    await eventually(() => {
      if (pod === '') throw new Error('no answer yet');
    });
    await shim.killAndRestart();
    await shim.pauseRuns(pod);
    t.equal(await sandboxState(shim, pod), READY);
    await shim.startContainer(pod);
    t.equal(await shim.runPod(), pod, 'the kubelet that got no answer finds it');
    t.same(await endEverything(shim), []);
  });
}
