import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'tap';
import type { Place } from '../../src/steps/registry.js';
import { CALL_SCENARIOS, endEverything, scenarioCalls, stepsOf } from './call-scenarios.js';
import { Shim } from './shim-harness.js';

// R8: the daemon is killed at every step; the next one finds, finishes or clears what is there.

/** A call that will never be answered. */
function lost(call: Promise<unknown>): void {
  call.catch(() => undefined);
}

const RUNNING = 1;

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

/** One whose start the daemon did not survive can be started, or runs. */
async function expectStarted(t: { equal(found: unknown, wanted: unknown): void }, shim: Shim): Promise<void> {
  const [container] = (await shim.cri.runtime.listContainers({})).containers;
  const containerId = container?.id ?? '';
  if (container?.state !== RUNNING) await shim.cri.runtime.startContainer({ containerId });
  t.equal((await shim.cri.runtime.containerStatus({ containerId })).status?.state, RUNNING);
}

test('R8 what a killed daemon had half made is not ready, and no container', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  await shim.failpoints.holdUntilReached('RunPodSandbox/create the pause process', () => lost(shim.runPod()), 'after');
  await shim.killAndRestart();
  t.match((await shim.cri.runtime.listPodSandbox({})).items, [{ state: 1 }]);
  const pod = await shim.runPod();
  t.equal(shim.containerd.process('k8s.io', pod).status, 2, 'its pause process runs');
  await shim.failpoints.holdUntilReached('CreateContainer/look up the user', () => lost(shim.createContainer(pod)), 'after');
  await shim.killAndRestart();
  t.same((await shim.cri.runtime.listContainers({})).containers, []);
});

test('N1 a CNI plugin that outlives its daemon is ended before the DEL that takes back what it does', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const pod = await shim.runPod();
  const plugin = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH, CNI_COMMAND: 'ADD', CNI_CONTAINERID: pod } });
  const other = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH, CNI_COMMAND: 'ADD', CNI_CONTAINERID: 'f'.repeat(64) } });
  t.teardown(() => [plugin, other].forEach((process) => process.kill('SIGKILL')));
  await Promise.all([once(plugin, 'spawn'), once(other, 'spawn')]);
  const ended = once(plugin, 'exit');
  await shim.killAndRestart();
  t.same(await ended, [null, 'SIGKILL']);
  t.equal(other.exitCode ?? other.signalCode, null, 'what runs for a container of somebody else goes on');
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
