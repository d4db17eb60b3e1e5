import { rm } from 'node:fs/promises';
import t from 'tap';
import type { TestNode } from '../harness/node.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import { footprint, grown, least, MEMORY, type Footprint } from './footprint.js';
import { readForm } from './form.js';

// Pods come and go, ten at a time: nothing of the daemon, and nothing that it keeps in containerd, grows with their number.

const { whole } = readForm();
const PODS = Number(process.env.CRIQUET_FAULTS_PODS ?? (whole ? 500 : 40));
/** After which what the daemon loads and caches once is there. */
const FIRST = whole ? 100 : 20;
const AT_ONCE = 10;
const LINES = 200;
/** Quiet moments towards the end, a few pods apart. */
const MOMENTS = whole ? 4 : 1;
const GROWTH = 0.05;
/** A daemon that has served twenty pods has not loaded and compiled all that it uses. */
const MEMORY_GROWTH = whole ? GROWTH : 0.3;

t.setTimeout(0);

await onEachEngine(
  `soak: ${PODS} pods`,
  async (t, node) => {
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    const began = Date.now();
    await soak(node, FIRST);
    const before = await footprint(node);
    let left = PODS - FIRST;
    const moments: Footprint[] = [];
    // What piles up does so at each of them; memory that is waiting for its collection does not.
    for (let moment = MOMENTS; moment > 0; moment--) {
      const pods = moment === MOMENTS ? left - (MOMENTS - 1) * AT_ONCE : AT_ONCE;
      await soak(node, pods);
      left -= pods;
      moments.push(await footprint(node));
    }
    const after = least(moments);
    t.strictSame(grown(before, after, { [MEMORY]: MEMORY_GROWTH }, GROWTH), [], 'nothing grows');
    const told = Object.entries(after).map(([kind, count]) => `${kind} ${before[kind]} -> ${count}`);
    t.comment(`covered: ${PODS} pods in ${Math.round((Date.now() - began) / 1000)} s, after ${FIRST} and at the end: ${told.join(', ')}`);
  },
  { only: 'criquet', logLevel: 'info', withFailpoints: true, ...(whole ? {} : { engines: 'newest' }) },
);

/** Lets so many pods live and go. */
async function soak(node: TestNode, pods: number): Promise<void> {
  let left = pods;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await onePod(node);
    }),
  );
}

async function onePod(node: TestNode): Promise<void> {
  const pod = await TestPod.run(node);
  const script = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo line $i; echo line $i >&2; done; trap 'exit 3' TERM; touch /written; while :; do sleep 0.1; done`;
  const container = await pod.start({ command: ['sh', '-c', script] });
  const { stdout } = await container.exec(['sh', '-c', 'until [ -e /written ]; do sleep 0.05; done; echo written']);
  if (stdout !== 'written\n') throw new Error(`container ${container.id}: ${JSON.stringify(stdout)}`);
  await container.stop(10n);
  const { exitCode } = await container.exit();
  const lines = (await container.log()).length;
  if (exitCode !== 3 || lines !== 2 * LINES) throw new Error(`container ${container.id}: exit code ${exitCode}, ${lines} lines`);
  await container.remove();
  await pod.remove();
  await rm(pod.config.logDirectory ?? '', { recursive: true });
}
