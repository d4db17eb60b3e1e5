import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { status as code } from '@grpc/grpc-js';
import { ContainerState, PodSandboxState, type CriCallError } from '@criquet/cri-api';
import { CALL_STEPS, type Call } from '@criquet/shim-server/testing';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod, type TestContainer } from '../harness/pods.js';
import { ABSENCES, type Absence } from './absences.js';
import { readForm } from './form.js';
import { exists } from './leftovers.js';
import { Load } from './load.js';
import { Random } from './random.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { Witness } from './witness.js';

// containerd is gone, and then hangs, for a minute under load: what is asked is answered from records, what is to be changed fails by name and in time,
// nothing of a container is lost, and all goes on by itself.

const form = readForm();
const AWAY_MS = form.whole ? 60_000 : 10_000;
/** `containerd.call_timeout`. */
const LIMIT_SECONDS = form.whole ? 15 : 3;
/** A pod's end first waits whether a shim says something, ten seconds, and then whether containerd does; other calls make two to containerd at most, with their undo. */
const CALL_MS = patience((LIMIT_SECONDS * 3 + 2) * 1_000);
const LATE_MS = patience(1_500);
const COUNT = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done';

/** What the calls are about. */
interface Scene {
  readonly pod: TestPod;
  readonly counter: TestContainer;
  readonly idle: TestContainer;
  readonly created: TestContainer;
  readonly exited: TestContainer;
  readonly doomed: TestPod;
  readonly witness: Witness;
}

async function arrange(node: TestNode): Promise<Scene> {
  const [pod, doomed] = await Promise.all([TestPod.run(node), TestPod.run(node, onNodeNetwork(node))]);
  const [counter, idle, created, exited, witness] = await Promise.all([
    pod.start({ command: ['sh', '-c', COUNT] }),
    pod.start(),
    pod.create(),
    pod.script('exit 5'),
    Witness.start(pod, 23),
    doomed.start(),
  ]);
  return { pod, counter, idle, created, exited, doomed, witness };
}

/** Everything that only reads, as the kubelet asks it all the time. */
async function readEverything(t: Test, { cri: { runtime, image } }: TestNode, { pod, counter, exited }: Scene): Promise<void> {
  const soon = { timeoutMs: patience(5_000) };
  const [{ items }, { containers }, sandbox, running, ended, images, present] = await Promise.all([
    runtime.listPodSandbox({ filter: { id: pod.id } }, soon),
    runtime.listContainers({ filter: { podSandboxId: pod.id } }, soon),
    runtime.podSandboxStatus({ podSandboxId: pod.id }, soon),
    runtime.containerStatus({ containerId: counter.id }, soon),
    runtime.containerStatus({ containerId: exited.id }, soon),
    image.listImages({}, soon),
    image.imageStatus({ image: { image: BUSYBOX } }, soon),
    runtime.version({}, soon),
    runtime.runtimeConfig({}, soon),
    runtime.listContainerStats({}, soon),
    runtime.listPodSandboxStats({}, soon),
  ]);
  t.match([items.length, containers.length, sandbox.status?.state], [1, 5, PodSandboxState.SANDBOX_READY]);
  t.match([running.status?.state, ended.status?.state, ended.status?.exitCode], [ContainerState.CONTAINER_RUNNING, ContainerState.CONTAINER_EXITED, 5]);
  t.ok(images.images.length > 0 && present.image !== undefined, 'images are known');
}

/** Everything that changes something; none of it can be done. */
function changes({ cri: { runtime, image } }: TestNode, { pod, idle, created, exited, doomed }: Scene, nextPod: TestPod['config']): [Call, Promise<unknown>][] {
  const limit = { timeoutMs: CALL_MS };
  const config = { metadata: { name: 'next', attempt: 0 }, image: { image: BUSYBOX }, command: ['true'], logPath: 'next.log' };
  return [
    ['RunPodSandbox', runtime.runPodSandbox({ config: nextPod }, limit)],
    ['CreateContainer', runtime.createContainer({ podSandboxId: pod.id, config, sandboxConfig: pod.config }, limit)],
    ['StartContainer', runtime.startContainer({ containerId: created.id }, limit)],
    ['StopContainer', runtime.stopContainer({ containerId: idle.id, timeout: 0n }, limit)],
    ['RemoveContainer', runtime.removeContainer({ containerId: exited.id }, limit)],
    ['UpdateContainerResources', runtime.updateContainerResources({ containerId: idle.id, linux: { cpuShares: 512n } }, limit)],
    ['ExecSync', runtime.execSync({ containerId: idle.id, cmd: ['true'] }, limit)],
    ['PullImage', image.pullImage({ image: { image: BUSYBOX } }, limit)],
    ['StopPodSandbox', runtime.stopPodSandbox({ podSandboxId: doomed.id }, limit)],
    ['RemovePodSandbox', runtime.removePodSandbox({ podSandboxId: doomed.id }, limit)],
  ];
}

/** Whether a text begins with the name of a step of the call. */
function namesStep(call: Call, text: string): boolean {
  const { steps, undo }: { readonly steps: readonly string[]; readonly undo: readonly string[] } = CALL_STEPS[call];
  return [...steps, ...undo].some((step) => text.startsWith(`${step}: `));
}

/** What the daemon's log says of a call that failed. */
async function loggedErrors({ criquet }: TestNode, call: Call): Promise<string[]> {
  const lines = (await readFile(criquet?.logFile ?? '', 'utf8')).split('\n').filter((line) => line.includes('"failed"') && line.includes(`"call":"${call}"`));
  return lines.map((line) => (JSON.parse(line) as { error?: string }).error ?? '');
}

async function expectRefused(t: Test, node: TestNode, scene: Scene, nextPod: TestPod['config']): Promise<number> {
  const began = Date.now();
  const calls = changes(node, scene, nextPod);
  await Promise.all(
    calls.map(async ([call, answer]) => {
      const error = await answer.then(() => undefined, (failure: CriCallError) => failure);
      const ms = Date.now() - began;
      if (error === undefined) throw new Error(`${call} succeeded without containerd`);
      t.ok([code.UNAVAILABLE, code.DEADLINE_EXCEEDED].includes(error.code), `${call}: ${code[error.code]}, ${error.details}`);
      t.ok(ms <= CALL_MS + LATE_MS, `${call}: after ${ms} ms`);
      // At its own deadline a caller hears nothing of the daemon any more; the log does.
      const named = namesStep(call, error.details) || (await eventually(async () => {
        const errors = await loggedErrors(node, call);
        if (!errors.some((text) => namesStep(call, text))) throw new Error(`${call} names no step: ${error.details}; log: ${errors.join('; ')}`);
        return true;
      }));
      t.ok(named, `${call} names its step`);
    }),
  );
  return calls.length;
}

/** The end of a container that needed nobody: from its shim, without containerd. */
async function expectEndSeen(t: Test, { criquet }: TestNode, { witness }: Scene): Promise<void> {
  const { container, exitCode } = witness;
  const seen = await eventually(async () => {
    const { state, exitCode } = await container.status();
    if (state !== ContainerState.CONTAINER_EXITED) throw new Error(`the end of container ${container.id} is not seen`);
    return exitCode;
  }).catch(async (error: unknown) => {
    const lines = (await readFile(criquet?.logFile ?? '', 'utf8')).split('\n').filter((line) => line.includes(container.id));
    throw new Error(`${(error as Error).message}; the log of it: ${lines.join('\n')}`);
  });
  t.equal(seen, exitCode, 'the end of a container is seen without containerd');
}

async function expectWhole(t: Test, node: TestNode, scene: Scene, nextPod: TestPod['config']): Promise<number> {
  const { runtime } = node.cri;
  const { pod, counter, idle, created, exited, doomed, witness } = scene;
  t.match(await witness.container.exit(), { exitCode: witness.exitCode }, 'its exit code is kept');
  t.match((await witness.container.log()).map(({ text }) => text), ['ended']);
  await eventually(() => runtime.startContainer({ containerId: created.id }, CALL));
  t.match(await eventually(() => counter.exec(['echo', 'back'])), { stdout: 'back\n' });
  // A containerd that hung may carry out the stop that it was asked for.
  await idle.stop();
  t.match(await idle.exit(), { exitCode: 137 });
  const { podSandboxId } = await eventually(() => runtime.runPodSandbox({ config: nextPod }, CALL), 20_000, 500);
  await counter.stop();
  const lines = (await counter.log()).map(({ text }) => Number(text));
  t.strictSame(lines, lines.map((_, index) => index + 1), `no line of ${lines.length} is lost`);
  await exited.remove();
  await Promise.all([pod.remove(), doomed.remove()]);
  await runtime.removePodSandbox({ podSandboxId }, CALL);
  return lines.length;
}

async function live(t: Test, node: TestNode, { name, reason, begin, end }: Absence): Promise<void> {
  const daemon = node.criquet?.pid;
  const clean = await node.state();
  const scene = await arrange(node);
  const load = new Load(node, new Random(form.seed));
  const loaded = load.run(4);
  loaded.catch(() => undefined);
  await pause(patience(1_000));
  const began = Date.now();
  await begin(node);
  let refused = 0;
  const nextPod = TestPod.config(node);
  try {
    await scene.witness.end();
    await eventually(async () => {
      const { status } = await node.cri.runtime.status({}, { timeoutMs: patience(5_000) });
      const ready = status?.conditions.find(({ type }) => type === 'RuntimeReady');
      if (ready?.status !== false) throw new Error('RuntimeReady');
      t.match(ready, { reason, message: /containerd/ });
    });
    await readEverything(t, node, scene);
    refused = await expectRefused(t, node, scene, nextPod);
    if (name === 'gone') await expectEndSeen(t, node, scene);
    await pause(Math.max(0, began + AWAY_MS - Date.now()));
    await readEverything(t, node, scene);
  } finally {
    await end(node);
  }
  const away = Date.now() - began;
  await eventually(() => node.expectReady(), 20_000);
  const lines = await expectWhole(t, node, scene, nextPod);
  load.end();
  await loaded;
  const { pods, calls, trueExits, wrong } = load.result;
  t.comment(`covered: containerd ${name} for ${Math.round(away / 1000)} s: ${refused} changing calls refused, ${lines} log lines, ${pods} pods, ${calls} calls and ${trueExits} exit codes of the load (CRIQUET_FAULTS_SEED=${form.seed})`);
  t.strictSame(wrong, [], 'every exit code is true');
  t.ok(await exists(`/proc/${daemon}`), 'criquet went on');
  t.strictSame((await node.cri.runtime.listPodSandbox({}, CALL)).items, [], 'every pod was removed');
  t.strictSame(await node.leaksSince(clean, 20_000), [], 'nothing is left');
}

await onEachEngine(
  'containerd is away under load',
  async (t, node) => {
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    for (const absence of ABSENCES) await t.test(absence.name, (t) => live(t, node, absence));
  },
  { only: 'criquet', callTimeout: `${LIMIT_SECONDS}s`, ...(form.whole ? {} : { engines: 'newest' }) },
);
