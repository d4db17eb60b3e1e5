import { test } from 'tap';
import { Shim } from './shim-harness.js';

// R8: the daemon is killed at every step; the next one finds, finishes or clears what is there.

const RUN_POD_SANDBOX = [
  'plan',
  'write the record',
  'write the pod files',
  'pin the network namespace',
  'attach to the pod network',
  'create the pause process',
  'start the pause process',
  'record that it is ready',
];
const CREATE_CONTAINER = [
  'plan',
  'write the record',
  'mount the image volumes',
  'label the mounts',
  'prepare the snapshot',
  'fill the volumes of the image',
  'look up the user',
  'write the spec',
];
const START_CONTAINER = ['open the log and FIFOs', 'create the task', 'start the task'];

/** A call that will never be answered. */
function lost(call: Promise<unknown>): void {
  call.catch(() => undefined);
}

async function end(shim: Shim, podSandboxId: string): Promise<string[]> {
  await shim.cri.runtime.stopPodSandbox({ podSandboxId });
  await shim.cri.runtime.removePodSandbox({ podSandboxId });
  return shim.leftovers();
}

for (const step of RUN_POD_SANDBOX) {
  test(`killed in RunPodSandbox at "${step}": a retry after the restart works, and everything can be removed`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    await shim.failpoints.holdUntilReached(`RunPodSandbox/${step}`, () => lost(shim.runPod()));
    await shim.killAndRestart();
    const shown = (await shim.cri.runtime.listPodSandbox({})).items;
    t.ok(shown.every(({ state }) => state === 1), 'what is half made is not ready');
    const pod = await shim.runPod();
    t.equal(shim.containerd.process('k8s.io', pod).status, 2, 'its pause process runs');
    t.same(await end(shim, pod), []);
  });
}

for (const step of CREATE_CONTAINER) {
  test(`killed in CreateContainer at "${step}": a retry after the restart works, and everything can be removed`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    await shim.failpoints.holdUntilReached(`CreateContainer/${step}`, () => lost(shim.createContainer(pod)));
    await shim.killAndRestart();
    t.same((await shim.cri.runtime.listContainers({})).containers, []);
    const containerId = await shim.createContainer(pod);
    await shim.cri.runtime.startContainer({ containerId });
    t.same(await end(shim, pod), []);
  });
}

for (const step of START_CONTAINER) {
  test(`killed in StartContainer at "${step}": the container can be started after the restart`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    const containerId = await shim.createContainer(pod);
    await shim.failpoints.holdUntilReached(`StartContainer/${step}`, () => lost(shim.cri.runtime.startContainer({ containerId })));
    await shim.killAndRestart();
    const { status: found } = await shim.cri.runtime.containerStatus({ containerId });
    t.equal(found?.state, 0, 'it is created');
    await shim.cri.runtime.startContainer({ containerId });
    t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, 1);
    t.same(await end(shim, pod), []);
  });
}

/** The containerd calls of an end, each of which the daemon does not survive. */
for (const call of ['tasks.kill', 'tasks.delete', 'containers.update', 'containers.delete', 'snapshots.remove']) {
  test(`killed while it stops and removes a pod, in ${call}: the next daemon finishes it`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const pod = await shim.runPod();
    await shim.startContainer(pod);
    let hanging = false;
    let release: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      release = shim.containerd.control.hang(call, () => {
        if (hanging) return false;
        hanging = true;
        resolve();
        return true;
      });
    });
    const { runtime } = shim.cri;
    lost(runtime.stopPodSandbox({ podSandboxId: pod }).then(() => runtime.removePodSandbox({ podSandboxId: pod })));
    await reached;
    await shim.killAndRestart();
    // containerd carries out what it was asked, though nobody waits for the answer any more.
    release();
    t.same(await end(shim, pod), []);
  });
}
