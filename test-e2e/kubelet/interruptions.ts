import { setTimeout as pause } from 'node:timers/promises';
import { describeGaps, type LineOf, type StreamAccount } from '../harness/counted-lines.js';
import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import { onCriquet } from './side-by-side.js';
import type { Side } from './side.js';
import type { Test } from './side-by-side.js';
import { writtenLines } from './written-lines.js';

/** The pipe of a stream: what a killed daemon may lose of it (ARCHITECTURE.md, Records and recovery). */
const LOST_AT_MOST = 64 * 1024;

/** Ten numbers a second, and as fast as it goes. */
const SLOW = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done';
const TEXT = ' a line that is somewhat longer than a number';
const FAST = `i=0; while :; do i=$((i+1)); echo "$i${TEXT}"; done`;
const LINES: Readonly<Record<'slow' | 'fast', LineOf>> = { slow: String, fast: (n) => `${n}${TEXT}` };

const PODS: Readonly<Record<string, string>> = { slow: SLOW, fast: FAST, probed: STAY };

await onCriquet(async (t, side) => {
  await side.apply(
    pod('slow', { containers: [shell('main', SLOW)] }),
    pod('fast', { containers: [shell('main', FAST, { resources: { limits: { cpu: '50m' } } })] }),
    pod('probed', { containers: [shell('main', STAY, { livenessProbe: { exec: { command: ['true'] }, periodSeconds: 2, failureThreshold: 3, timeoutSeconds: 10 } })] }),
  );
  const before = new Map<string, string | undefined>();
  for (const name of Object.keys(PODS)) before.set(name, containerOf(await side.ready(name), 'main').containerID);
  await side.lines('slow', 'main', 5);
  const { criquet } = side.machine.node;
  if (criquet === undefined) throw new Error('no criquet');

  const goesOn = async (t: Test): Promise<void> => {
    for (const [name, id] of before) {
      const now = containerOf(await side.ready(name), 'main');
      t.match(now, { containerID: id, restartCount: 0 }, `${name} goes on in the same container`);
    }
    const last = (await account(side, 'slow')).last;
    await eventually(async () => {
      if ((await account(side, 'slow')).last <= last) throw new Error(`the log stands at ${last}`);
    });
  };
  const runtimeUp = (): Promise<void> =>
    eventually(async () => {
      const { status, body } = await side.kubelet.get('/healthz');
      if (status !== 200) throw new Error(`/healthz: ${status} ${body.toString()}`);
      await side.run('probed', 'main', 'true');
    }, 40_000, 500);

  await t.test('criquet is killed under load and started again', async (t) => {
    await criquet.stop('SIGKILL');
    await criquet.start();
    await runtimeUp();
    await goesOn(t);
  });

  await t.test('criquet is away for 30 s', async (t) => {
    await criquet.stop();
    await pause(30_000);
    await criquet.start();
    await runtimeUp();
    await goesOn(t);
  });

  await t.test('the kubelet is killed and started again', async (t) => {
    await side.kubelet.stop('SIGKILL');
    await side.kubelet.start();
    await goesOn(t);
  });

  await t.test('both are killed and started again', async (t) => {
    await criquet.stop('SIGKILL');
    await side.kubelet.stop('SIGKILL');
    // A kubelet that finds no runtime ends.
    await criquet.start();
    await side.kubelet.start();
    await runtimeUp();
    await goesOn(t);
  });

  for (const name of ['slow', 'fast'] as const) {
    const { lines, gaps, wrong } = await account(side, name);
    t.ok(lines > 100 && wrong.length === 0, `${name}: ${lines} lines, each once and in order: ${wrong.join('; ')}`);
    // Killed twice.
    t.ok(gaps.length <= 2 && gaps.every(({ bytes }) => bytes <= LOST_AT_MOST), `${name}: lost ${describeGaps(gaps)}`);
  }
});

function account(side: Side, name: keyof typeof LINES): Promise<StreamAccount> {
  return writtenLines(side, name, LINES[name]);
}
