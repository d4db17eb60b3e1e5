import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describeGaps } from '../harness/counted-lines.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { copyProgram } from '../harness/program-tree.js';
import { readForm } from './form.js';
import { Random } from './random.js';
import { criquetOf } from './scenarios/dying-daemon.js';
import { WritingPods } from './writing-pods.js';

// The daemon goes and comes under pods that write: stopped in order, replaced by another program, killed.

const { whole, seed: SEED } = readForm();
const PODS = Number(process.env.CRIQUET_FAULTS_PODS ?? (whole ? 50 : 12));
const RESTARTS = Number(process.env.CRIQUET_FAULTS_RESTARTS ?? (whole ? 6 : 2));
const KILLS = Number(process.env.CRIQUET_FAULTS_KILLS ?? (whole ? 6 : 2));
/** What a killed daemon may lose of a stream (ARCHITECTURE.md, Records and recovery). */
const LOST_AT_MOST = 64 * 1024;

await onEachEngine(
  'restarts under load',
  async (t, node) => {
    const criquet = criquetOf(node);
    const programs = [node.environment.criquetProgram, await copyProgram(node.environment.checkout, join(node.directory, 'upgrade'))];
    const load = await WritingPods.start(node, new Random(SEED), { pods: PODS, ending: whole ? 10 : 4, awayMs: whole ? 4_000 : 1_500 });
    t.comment(`CRIQUET_FAULTS_SEED=${SEED}`);

    await t.test(`stopped in order and started again ${RESTARTS} times, every second time as another program`, async (t) => {
      for (let round = 1; round <= RESTARTS; round++) {
        const program = programs[Math.floor(round / 2) % 2] ?? '';
        criquet.use(program);
        await load.outlive(t, async () => void (await criquet.stop()));
        t.match(await readFile(`/proc/${criquet.pid}/cmdline`, 'utf8'), dirname(dirname(program)));
      }
      const { lines, gaps } = await load.account(t);
      t.strictSame(gaps.map((gap) => describeGaps([gap])), [], 'no line is lost');
      t.comment(`covered: ${RESTARTS} restarts, ${Math.floor(RESTARTS / 2)} of them upgrades, ${PODS} pods: ${lines} lines, ${load.exits} exit codes, ${load.rotations} rotations, none lost`);
    });

    await t.test(`killed ${KILLS} times`, async (t) => {
      for (let round = 0; round < KILLS; round++) await load.outlive(t, () => criquet.kill());
    });

    await load.end(t);
    const { lines, gaps, most } = await load.account(t);
    t.strictSame(gaps.filter(({ bytes }) => bytes > LOST_AT_MOST).map((gap) => describeGaps([gap])), [], 'no gap of more than 64 KiB');
    t.ok(most <= KILLS, 'no more gaps in a stream than kills');
    t.comment(
      `covered: ${KILLS} kills: ${lines} lines, ${load.exits} exit codes; lost ${gaps.length} times, ${Math.max(0, ...gaps.map(({ bytes }) => bytes))} bytes at most, ${gaps.reduce((sum, { lines }) => sum + lines, 0)} lines in all`,
    );
    await node.removePods();
  },
  { only: 'criquet', logLevel: 'info', ...(whole ? {} : { engines: 'newest' }) },
);
