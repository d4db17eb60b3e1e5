import { test, type Test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

// Somebody else removes from containerd what criquet counts on: the record of a task that runs, or the task of a record. containerd says the same of
// both, that there is no such task. The two minutes of `stop_timeout` are for a process that does not end; nothing here may wait for them.

const AT_ONCE_MS = 8_000;

/** @param deaf no event of containerd's reaches criquet */
async function pod(t: Test, { deaf = false } = {}) {
  const shim = await Shim.start({
    prepare: ({ control }) => {
      if (deaf) t.teardown(control.hang('events.subscribe'));
    },
  });
  t.teardown(() => shim.close());
  const podSandboxId = await shim.runPod();
  const containerId = await shim.startContainer(podSandboxId);
  return { shim, runtime: shim.cri.runtime, other: shim.otherClient(), podSandboxId, containerId };
}

async function atOnce<T>(t: Test, call: Promise<T>): Promise<T> {
  const began = Date.now();
  const answer = await call;
  t.ok(Date.now() - began < AT_ONCE_MS, `after ${Date.now() - began} ms`);
  return answer;
}

test('a container\'s record is gone: it gets its stop signal, its exit code is told, and it can be removed', async (t) => {
  const { shim, runtime, other, podSandboxId, containerId } = await pod(t);
  shim.containerd.process(NAMESPACE, containerId).onSignal(() => shim.containerd.process(NAMESPACE, containerId).exit(42));
  await other.containers.delete(containerId);
  await atOnce(t, runtime.stopContainer({ containerId, timeout: 30n }));
  t.match((await runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 42 });
  await atOnce(t, runtime.removeContainer({ containerId }));
  await runtime.removePodSandbox({ podSandboxId });
  t.same(await shim.leftovers(), []);
});

test('a container\'s record is gone: killed at once, or with its removal', async (t) => {
  for (const end of ['stopContainer', 'removeContainer'] as const) {
    const { shim, runtime, other, podSandboxId, containerId } = await pod(t);
    await other.containers.delete(containerId);
    await atOnce(t, end === 'stopContainer' ? runtime.stopContainer({ containerId, timeout: 0n }) : runtime.removeContainer({ containerId }));
    if (end === 'stopContainer') t.match((await runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 137 });
    await runtime.removePodSandbox({ podSandboxId });
    t.same(await shim.leftovers(), []);
  }
});

test('the records of a whole pod are gone: it can be stopped and removed, its pause process too', async (t) => {
  const { shim, runtime, other, podSandboxId, containerId } = await pod(t);
  for (const id of [containerId, podSandboxId]) await other.containers.delete(id);
  await atOnce(t, runtime.stopPodSandbox({ podSandboxId }));
  t.match((await runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 137 });
  await atOnce(t, runtime.removePodSandbox({ podSandboxId }));
  t.same(await shim.leftovers(), []);
});

test('a container ends by itself after its record has gone: its task goes too', async (t) => {
  const { shim, runtime, other, podSandboxId, containerId } = await pod(t);
  await other.containers.delete(containerId);
  shim.containerd.process(NAMESPACE, containerId).exit(3);
  await eventually(() => {
    if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('its task is there');
  });
  t.match((await runtime.containerStatus({ containerId })).status, { state: 2, exitCode: 3 });
  await runtime.removePodSandbox({ podSandboxId });
  t.same(await shim.leftovers(), []);
});

test('the task is gone, the record is there: the stop ends at once, with the exit code where there is one', async (t) => {
  for (const code of [137, 255]) {
    // Without the event nobody tells how it ended.
    const { shim, runtime, podSandboxId, containerId } = await pod(t, { deaf: code === 255 });
    shim.containerd.tasks.killShim(NAMESPACE, containerId);
    await atOnce(t, runtime.stopContainer({ containerId, timeout: 30n }));
    t.match((await runtime.containerStatus({ containerId })).status, { state: 2, exitCode: code, reason: code === 255 ? 'Unknown' : 'Error' });
    await atOnce(t, runtime.removeContainer({ containerId }));
    await runtime.removePodSandbox({ podSandboxId });
    t.same(await shim.leftovers(), []);
  }
});
