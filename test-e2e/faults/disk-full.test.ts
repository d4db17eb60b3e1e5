import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status as code } from '@grpc/grpc-js';
import { ContainerState, PodSandboxState } from '@criquet/cri-api';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod, type TestContainer } from '../harness/pods.js';
import { readForm } from './form.js';
import { criquetOf } from './scenarios/dying-daemon.js';
import { SmallDisk } from './small-disk.js';

// criquet's directories and the pods' log directory, each on a file system that is filled to the last byte and file.

const FULL = { code: code.RESOURCE_EXHAUSTED };
/** Numbers its lines, and tells beside its log how far it has come. */
const WRITE = 'i=0; while :; do i=$((i+1)); echo "line $i ...................................................."; echo $i > /dev/shm/at; sleep 0.01; done';

async function at(container: TestContainer): Promise<number> {
  return Number((await container.exec(['cat', '/dev/shm/at'])).stdout);
}

/** The state or root directory is full. `refused` are the calls that need it. */
async function fullDirectory(t: Test, node: TestNode, name: 'stateDir' | 'rootDir'): Promise<void> {
  const criquet = criquetOf(node);
  const { runtime } = node.cri;
  await criquet.stop();
  const disk = await SmallDisk.over(criquet[name]);
  await criquet.start();
  const clean = await node.state();
  const [pod, ending] = await Promise.all([TestPod.run(node), TestPod.run(node)]);
  const running = await pod.start({ command: ['sh', '-c', WRITE] });
  const created = await pod.create();
  const stopped = await ending.start();
  const taken = await disk.fill();
  const before = await node.state();
  const names = await disk.names();

  await t.test('calls that need it name step and file, and leave nothing', async (t) => {
    const nextPod = TestPod.config(node);
    if (name === 'rootDir') {
      await t.rejects(runtime.runPodSandbox({ config: nextPod }, CALL), { ...FULL, details: new RegExp(`^write the pod files: ENOSPC.*'${criquet.rootDir}/`) });
    } else {
      await t.rejects(runtime.runPodSandbox({ config: nextPod }, CALL), { ...FULL, details: new RegExp(`^(write the pod files|pin the network namespace): .*ENOSPC.*${criquet.stateDir}/`) });
      await t.rejects(running.exec(['true']), { ...FULL, details: new RegExp(`^open the FIFOs: ENOSPC.*${criquet.stateDir}/io/`) });
      await t.rejects(runtime.startContainer({ containerId: created.id }, CALL), { ...FULL, details: new RegExp(`^open the log and FIFOs: .*ENOSPC.*${criquet.stateDir}/io/`) });
    }
    t.strictSame(await disk.names(), names, 'nothing half made');
    t.strictSame(await node.leaksSince(before), []);
    t.equal((await runtime.listPodSandbox({}, CALL)).items.length, 2);
  });

  await t.test('running pods go on; stop and remove work', async (t) => {
    const lines = (await running.log()).length;
    await eventually(async () => {
      if ((await running.log()).length < lines + 20) throw new Error('it writes no more');
    });
    await stopped.stop();
    t.match(await stopped.exit(), { exitCode: 137 });
    await stopped.remove();
    await ending.remove();
    t.match((await runtime.podSandboxStatus({ podSandboxId: pod.id }, CALL)).status, { state: PodSandboxState.SANDBOX_READY });
  });

  await t.test('a daemon that starts meanwhile serves what runs', async (t) => {
    await disk.free();
    await disk.fill();
    await criquet.kill();
    node.reconnect();
    await criquet.start();
    t.match(await running.status(), { state: ContainerState.CONTAINER_RUNNING });
    const lines = (await running.log()).length;
    await eventually(async () => {
      if ((await running.log()).length < lines + 20) throw new Error('its log does not go on');
    });
    await criquet.stop();
    node.reconnect();
    await criquet.start();
    t.match(await running.status(), { state: ContainerState.CONTAINER_RUNNING });
  });

  await disk.free();
  await t.test('with room everything works', async (t) => {
    const next = await TestPod.run(node);
    const container = await next.start();
    t.match(await container.exec(['echo', 'room']), { stdout: 'room\n' });
    await eventually(() => running.exec(['true']));
    await Promise.all([next.remove(), pod.remove()]);
    t.strictSame(await node.leaksSince(clean, 15_000), [], 'nothing is left');
  });
  t.comment(`covered: ${name} full with ${taken.bytes} bytes and ${taken.files} files`);
  await criquet.stop();
  await disk.unmount();
  await criquet.start();
  await eventually(() => node.expectReady());
}

/** What the daemon's log says of records that a container's log lost. */
async function toldDrops(node: TestNode, containerId: string, message: string): Promise<number[]> {
  const lines = (await readFile(criquetOf(node).logFile ?? '', 'utf8')).split('\n').filter((line) => line.includes(containerId) && line.includes(`"${message}"`));
  return lines.map((line) => (JSON.parse(line) as { droppedRecords: number }).droppedRecords);
}

async function fullLogDirectory(t: Test, node: TestNode): Promise<void> {
  const disk = await SmallDisk.over(join(node.directory, 'logs'), { megabytes: 2 });
  const pod = await TestPod.run(node);
  const writer = await pod.start({ command: ['sh', '-c', WRITE] });
  await eventually(async () => {
    if ((await writer.log()).length < 20) throw new Error('no lines');
  });
  await disk.fill();
  const began = await at(writer);
  await eventually(async () => {
    if ((await toldDrops(node, writer.id, 'log records are dropped')).length === 0) throw new Error('nobody says that records are lost');
  });
  await eventually(async () => {
    if ((await at(writer)) < began + 100) throw new Error('the container waits');
  });
  await t.rejects(pod.start(), { ...FULL, details: /^open the log and FIFOs: log file .*container-.*ENOSPC/ }, 'a container whose log cannot be made is not started');
  await disk.free();
  const whole = /^line (\d+) \.{52}$/;
  const full = (await writer.log()).length;
  await eventually(async () => {
    if ((await writer.log()).length < full + 50) throw new Error('the log does not go on');
  });
  await writer.stop();
  const last = await eventually(async () => {
    const told = await toldDrops(node, writer.id, 'log records were dropped');
    if (told[0] === undefined) throw new Error('no sum is told');
    return told[0];
  });
  const records = await writer.log();
  t.strictSame(records.filter(({ text, tag }) => tag !== 'F' || !whole.test(text)), [], 'every line is whole');
  const numbers = records.map(({ text }) => Number(whole.exec(text)?.[1]));
  const gaps = numbers.flatMap((number, index) => (index > 0 && number !== (numbers[index - 1] ?? 0) + 1 ? [number - (numbers[index - 1] ?? 0) - 1] : []));
  t.equal(gaps.reduce((sum, gap) => sum + gap, 0), last, 'exactly as many are missing as were told');
  t.comment(`covered: log directory: ${numbers.length} lines, ${last} lost while it was full, in ${gaps.length} gaps`);
  await pod.remove();
  await disk.unmount();
}

const form = readForm();
await onEachEngine(
  'a disk that is full',
  async (t, node) => {
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    await t.test('the log directory', (t) => fullLogDirectory(t, node));
    for (const name of ['stateDir', 'rootDir'] as const) await t.test(name, (t) => fullDirectory(t, node, name));
  },
  { only: 'criquet', ...(form.whole ? {} : { engines: 'newest' }) },
);
