import { test, type Test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

// What a call asks containerd for, in the usual case: each is a round trip, and what changes something is a write to the disk.

async function started(t: Test) {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { calls } = shim.containerd.control;
  /** The names of the calls that something makes, sorted: some are made side by side. Not those that look, and last. */
  const during = async (deed: () => Promise<unknown>): Promise<string[]> => {
    const before = calls.length;
    await deed();
    return calls.slice(before).map(({ name }) => name).sort();
  };
  return { shim, during };
}

const ended = (shim: Shim, containerId: string) =>
  eventually(() => {
    if (shim.containerd.state(NAMESPACE).tasks.has(containerId)) throw new Error('its task is there');
  });

test('a pod with one container, one call after the other', async (t) => {
  const { shim, during } = await started(t);
  const { runtime } = shim.cri;
  let podSandboxId = '';
  t.same(await during(async () => (podSandboxId = await shim.runPod())), [
    'containers.create', // the record, before anything else
    'containers.update', // ready
    'sandboxes.create',
    'tasks.create',
    'tasks.start',
    'tasks.wait', // for its end
  ]);
  let containerId = '';
  t.same(await during(async () => (containerId = await shim.createContainer(podSandboxId))), ['containers.create', 'snapshots.prepare']);
  t.equal(shim.containerd.state(NAMESPACE).containers.get(containerId)?.sandbox, podSandboxId, 'it joins the shim of its pod');
  t.match(await during(() => runtime.startContainer({ containerId })), ['tasks.create', 'tasks.start']);
  t.match(await during(() => runtime.execSync({ containerId, cmd: ['true'] })), ['containers.get', 'tasks.exec', 'tasks.start', 'tasks.wait']);
  t.match(await during(() => runtime.stopContainer({ containerId, timeout: 0n })), ['containers.update', 'tasks.delete', 'tasks.kill']);
  await ended(shim, containerId);
  const stop = await during(() => runtime.stopPodSandbox({ podSandboxId }));
  t.same(stop.filter((name) => name.startsWith('containers.')), ['containers.update', 'containers.update'], 'not ready any more; and all is gone');
  t.same(await during(() => runtime.removePodSandbox({ podSandboxId })), ['containers.delete', 'containers.delete', 'sandboxes.delete', 'snapshots.remove']);
  t.same(await shim.leftovers(), []);
});

test('a container that an earlier daemon created, ran and saw end: what is left of it is looked for', async (t) => {
  const { shim, during } = await started(t);
  const { runtime } = shim.cri;
  const podSandboxId = await shim.runPod();
  const containerId = await shim.createContainer(podSandboxId);
  await shim.restart();
  t.ok((await during(() => runtime.startContainer({ containerId }))).includes('snapshots.mounts'), 'its root file system is not known');
  await runtime.stopContainer({ containerId, timeout: 0n });
  await ended(shim, containerId);
  await shim.restart();
  t.ok((await during(() => runtime.removeContainer({ containerId }))).includes('tasks.delete'));
  await runtime.removePodSandbox({ podSandboxId });
  t.same(await shim.leftovers(), []);
});
