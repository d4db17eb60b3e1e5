import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../harness/eventually.js';
import { pod, shell, STAY } from './manifest.js';
import { numbers } from './numbers.js';
import { containerOf } from './pod-status.js';
import { onCriquet } from './side-by-side.js';
import type { Test } from './side-by-side.js';

/** The pipe of a stream: what a killed daemon may lose of it (ARCHITECTURE.md, Records and recovery). */
const LOST_AT_MOST = 64 * 1024;

/** Ten numbers a second, and as fast as it goes. */
const SLOW = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done';
const TEXT = ' a line that is somewhat longer than a number';
const FAST = `i=0; while :; do i=$((i+1)); echo "$i${TEXT}"; done`;
/** What their lines have behind the number. */
const REST = { slow: '\n', fast: `${TEXT}\n` };

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
    const last = (await numbers(side, 'slow')).at(-1) ?? 0;
    await eventually(async () => {
      if (((await numbers(side, 'slow')).at(-1) ?? 0) <= last) throw new Error(`the log stands at ${last}`);
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
    const all = await numbers(side, name);
    const lost = all.flatMap((number, index) => {
      const gap = number - (all[index - 1] ?? number - 1) - 1;
      return gap === 0 ? [] : [{ gap, bytes: gap * (String(number - 1).length + REST[name].length) }];
    });
    t.ok(all.length > 100 && lost.every(({ gap }) => gap > 0), `${name}: ${all.length} lines, each once and in order`);
    // Killed twice.
    const told = lost.map(({ gap, bytes }) => `${gap} lines of ${bytes} bytes`).join(', ') || 'nothing';
    t.ok(lost.length <= 2 && lost.every(({ bytes }) => bytes <= LOST_AT_MOST), `${name}: lost ${told}`);
  }
});
