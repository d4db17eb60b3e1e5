import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { patience } from '../harness/environment.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL } from '../harness/pods.js';
import { readForm } from './form.js';
import { Load } from './load.js';
import { Random } from './random.js';
import { criquetOf } from './scenarios/dying-daemon.js';

// SIGKILL at random moments, under pods that come and go: what a call stands at when the daemon dies is left to chance.

const form = readForm();
const SEED = form.seed;
const KILLS = Number(process.env.CRIQUET_FAULTS_KILLS ?? (form.whole ? 200 : 15));
const WORKERS = 4;
/** A daemon lives for this long at most, and for twice as long each time that nothing was carried out before it died: on a slow machine a pod takes its time. */
const LIFE_MS = 2_500;

t.comment(`${KILLS} kills, CRIQUET_FAULTS_SEED=${SEED}`);

await onEachEngine(
  'killed at random moments',
  async (t, node) => {
    const random = new Random(SEED);
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    const clean = await node.state();
    const load = new Load(node, new Random(SEED + 1));
    const loaded = load.run(WORKERS);
    // A load that fails is told of below.
    loaded.catch(() => undefined);
    const began = Date.now();
    let [life, done] = [LIFE_MS, 0];
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(patience(random.between(50, life)));
      life = load.result.done > done ? LIFE_MS : life * 2;
      done = load.result.done;
      await criquetOf(node).kill();
      node.reconnect();
      await pause(random.between(0, 200));
      await criquetOf(node).start();
    }
    load.end();
    await loaded;
    const { pods, calls, trueExits, wrong } = load.result;
    t.comment(`covered: ${KILLS} kills in ${Math.round((Date.now() - began) / 1000)} s, ${pods} pods, ${calls} calls, ${trueExits} exit codes (CRIQUET_FAULTS_SEED=${SEED})`);
    t.strictSame(wrong, [], 'every exit code is true');
    t.ok(pods > 0, 'pods came and went');
    t.strictSame((await node.cri.runtime.listPodSandbox({}, CALL)).items, [], 'every pod was removed');
    t.strictSame(await node.leaksSince(clean, 15_000), [], 'nothing is left');
  },
  { only: 'criquet', ...(form.whole ? {} : { engines: 'newest' }) },
);
