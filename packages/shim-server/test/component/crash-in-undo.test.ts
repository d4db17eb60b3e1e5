import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { test } from 'tap';
import { CALL_STEPS, type Place } from '../../src/steps/registry.js';
import { CALL_SCENARIOS, endEverything, expectStarted, lost, stepsOf } from './call-scenarios.js';
import { eventually, NAMESPACE, Shim } from './shim-harness.js';

// R8: the daemon is killed while it takes back what has failed, while a container's exit is handled, and while a plugin runs.

const EXITED = 2;

/** What only user namespaces and checkpoints have; those have tests of their own. */
const NOT_ORDINARY: ReadonlySet<string> = new Set(['release the user namespace', 'remove the checkpoint']);

for (const call of ['RunPodSandbox', 'CreateContainer', 'StartContainer', 'UpdateContainerResources'] as const) {
  for (const undo of CALL_STEPS[call].undo.filter((what) => !NOT_ORDINARY.has(what))) {
    test(`R8 killed in ${call} that fails, after it has undone "${undo}": a retry works, and everything can be removed`, async (t) => {
      const shim = await Shim.start();
      t.teardown(() => shim.close());
      const made = await CALL_SCENARIOS[call](shim);
      const last = stepsOf(call).at(-1) ?? '';
      shim.failpoints.fail(`${call}/${last}` as Place, { moment: 'after' });
      await shim.failpoints.holdUntilReached(`${call}/undo: ${undo}` as Place, () => lost(made()), 'after');
      await shim.killAndRestart();
      if (call === 'StartContainer') await expectStarted(t, shim);
      else await made();
      if (call === 'CreateContainer') await expectStarted(t, shim);
      t.same(await endEverything(shim), []);
    });
  }
}

for (const step of CALL_STEPS.ContainerExit.steps) {
  test(`R8 killed before "${step}" of a container that has ended: its true exit code, and everything can be removed`, async (t) => {
    const shim = await Shim.start();
    t.teardown(() => shim.close());
    const containerId = await shim.startContainer(await shim.runPod());
    await shim.failpoints.holdUntilReached(`ContainerExit/${step}`, () => shim.containerd.process(NAMESPACE, containerId).exit(5));
    await shim.killAndRestart();
    await eventually(async () => {
      const { status: found } = await shim.cri.runtime.containerStatus({ containerId });
      if (found?.state !== EXITED) throw new Error('it has not exited');
      t.match(found, { exitCode: 5, reason: 'Error' });
    });
    t.same(await endEverything(shim), []);
  });
}

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

test('R8 killed twice: a container whose task was created and not started is created still, and can be started', async (t) => {
  const shim = await Shim.start();
  t.teardown(() => shim.close());
  const containerId = await shim.createContainer(await shim.runPod());
  await shim.failpoints.holdUntilReached('StartContainer/create the task', () => lost(shim.cri.runtime.startContainer({ containerId })), 'after');
  // The next daemon kills the task and cannot delete it any more.
  shim.containerd.control.fail('tasks.delete', { code: status.UNAVAILABLE, times: 1 });
  await shim.killAndRestart();
  t.equal(shim.containerd.process(NAMESPACE, containerId).exitStatus, 137);
  await shim.killAndRestart();
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 0 });
  await shim.cri.runtime.startContainer({ containerId });
  t.match((await shim.cri.runtime.containerStatus({ containerId })).status, { state: 1 });
  t.same(await endEverything(shim), []);
});

test('R8 cgroups that a killed OCI runtime has left go with their container and their pod, and no others', async (t) => {
  const sys = await mkdtemp(join(tmpdir(), 'criquet-sys-'));
  t.teardown(() => rm(sys, { recursive: true }));
  const shim = await Shim.start({ node: { nodeFacts: { cgroup: 'v1' }, nodeRoots: { proc: '/proc', sys } } });
  t.teardown(() => shim.close());
  const pod = await shim.runPod({ linux: { cgroupParent: '/parent' } });
  const containerId = await shim.createContainer(pod);
  const left = (controller: string, id: string) => join(sys, 'fs/cgroup', controller, 'parent', id);
  for (const controller of ['memory', 'pids']) {
    for (const id of [pod, containerId, 'other']) await mkdir(join(left(controller, id), 'below'), { recursive: true });
  }
  const there = async () => (await readdir(join(sys, 'fs/cgroup/memory/parent'))).sort();
  await shim.cri.runtime.removeContainer({ containerId });
  t.same(await there(), [pod, 'other'].sort());
  await shim.cri.runtime.removePodSandbox({ podSandboxId: pod });
  t.same(await there(), ['other']);
  t.same(await readdir(join(sys, 'fs/cgroup/pids/parent')), ['other']);
  t.same(await shim.leftovers(), []);
});
