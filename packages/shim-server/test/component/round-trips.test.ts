import { test, type Test } from 'tap';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

// What a call asks containerd for, in the usual case: each is a round trip, and what changes something is a write to the disk.

async function started(t: Test) {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const { calls } = shim.containerd.control;
  /** The names of the calls that something makes, sorted: some are made side by side. Not the waits for a process' end, which come when they come. */
  const during = async (deed: () => Promise<unknown>): Promise<string[]> => {
    const before = calls.length;
    await deed();
    return calls.slice(before).map(({ name }) => name).filter((name) => name !== 'tasks.wait').sort();
  };
  // The daemon looks around after its start.
  await eventually(() => {
    if (!shim.logLines.some((line) => line.includes('"looked for what has no owner"'))) throw new Error('it still looks');
  });
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
  const run = await during(async () => {
    podSandboxId = await shim.runPod();
    await shim.pauseRuns(podSandboxId);
  });
  t.same(run, [
    'containers.create', // the record, before anything else
    'containers.update', // ready
    'sandboxes.create',
    'tasks.create',
    'tasks.start', // behind the answer
  ]);
  let containerId = '';
  // The update is of the user, which stands in the image.
  t.same(await during(async () => (containerId = await shim.createContainer(podSandboxId))), ['containers.create', 'containers.update', 'snapshots.prepare']);
  t.equal(shim.containerd.state(NAMESPACE).containers.get(containerId)?.sandbox, podSandboxId, 'it joins the shim of its pod');
  const start = await during(() => runtime.startContainer({ containerId }));
  t.same(start.filter((name) => name !== 'containers.update'), ['tasks.create', 'tasks.start'], 'and behind the answer the time of its start');
  const exec = await during(() => runtime.execSync({ containerId, cmd: ['true'] }));
  t.same(exec.filter((name) => name !== 'tasks.deleteProcess'), ['containers.get', 'tasks.exec', 'tasks.start'], 'and behind the answer its end');
  const again = await during(() => runtime.execSync({ containerId, cmd: ['false'] }));
  t.same(again.filter((name) => name !== 'tasks.deleteProcess'), ['tasks.exec', 'tasks.start'], 'the process of the container is known');
  await during(() => runtime.stopContainer({ containerId, timeout: 0n }));
  await ended(shim, containerId);
  const stop = await during(() => runtime.stopPodSandbox({ podSandboxId }));
  t.same(stop.filter((name) => name.startsWith('containers.')), ['containers.update'], 'one write');
  t.notOk(stop.includes('tasks.get'), 'no look for a shim that hangs');
  t.same(await during(() => runtime.removePodSandbox({ podSandboxId })), ['containers.delete', 'containers.delete', 'sandboxes.delete', 'snapshots.remove']);
  t.same(await shim.leftovers(), []);
});

test('a container that an earlier daemon created, ran and saw end: what is left of it is looked for', async (t) => {
  const { shim, during } = await started(t);
  const podSandboxId = await shim.runPod();
  const containerId = await shim.createContainer(podSandboxId);
  await shim.restart();
  t.ok((await during(() => shim.cri.runtime.startContainer({ containerId }))).includes('snapshots.mounts'), 'its root file system is not known');
  await shim.cri.runtime.stopContainer({ containerId, timeout: 0n });
  await ended(shim, containerId);
  await shim.restart();
  t.ok((await during(() => shim.cri.runtime.removeContainer({ containerId }))).includes('tasks.delete'));
  await shim.cri.runtime.removePodSandbox({ podSandboxId });
  t.same(await shim.leftovers(), []);
});
