import { test } from 'tap';
import type { Place } from '../../src/steps/registry.js';
import { CALL_SCENARIOS, endEverything, expectStarted, lost, scenarioCalls, stepsOf } from './call-scenarios.js';
import { Shim } from './shim-harness.js';

// R8: the daemon is killed at every step; the next one finds, finishes or clears what is there.

for (const call of scenarioCalls) {
  for (const [index, step] of stepsOf(call).entries()) {
    // After one step is before the next.
    for (const moment of index === 0 ? (['before', 'after'] as const) : (['after'] as const)) {
      test(`R8 killed in ${call} ${moment} "${step}": the same call works after the restart, and everything can be removed`, async (t) => {
        const shim = await Shim.start();
        t.teardown(() => shim.close());
        const made = await CALL_SCENARIOS[call](shim);
        await shim.failpoints.holdUntilReached(`${call}/${step}` as Place, () => lost(made()), moment);
        await shim.killAndRestart();
        if (call === 'StartContainer') await expectStarted(t, shim);
        else await made();
        t.same(await endEverything(shim), []);
      });
    }
  }
}

test('R8 what a killed daemon had half made is not ready, and no container', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.failpoints.holdUntilReached('RunPodSandbox/create the pause process', () => lost(shim.runPod()), 'after');
  await shim.killAndRestart();
  t.match((await shim.cri.runtime.listPodSandbox({})).items, [{ state: 1 }]);
  const pod = await shim.runPod();
  await shim.pauseRuns(pod);
  await shim.failpoints.holdUntilReached('CreateContainer/look up the user', () => lost(shim.createContainer(pod)), 'after');
  await shim.killAndRestart();
  t.same((await shim.cri.runtime.listContainers({})).containers, []);
});

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
    t.same(await endEverything(shim), []);
  });
}
