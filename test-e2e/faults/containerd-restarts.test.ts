import { setTimeout as pause } from 'node:timers/promises';
import { PodSandboxState } from '@criquet/cri-api';
import t from 'tap';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import { exists } from './leftovers.js';
import { readForm } from './form.js';
import { Load } from './load.js';
import { Random } from './random.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { Witness } from './witness.js';

// containerd is killed and restarted in order, in turn, under pods that come and go; other containers end while it is away.

const form = readForm();
const SEED = form.seed;
const RESTARTS = form.whole ? 20 : 4;
const WORKERS = 4;
const WITNESSES = 3;

t.comment(`${RESTARTS} restarts, CRIQUET_FAULTS_SEED=${SEED}`);

await onEachEngine(
  'containerd restarts under load',
  async (t, node) => {
    const random = new Random(SEED);
    const daemon = node.criquet?.pid;
    await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    const clean = await node.state();
    const pod = await TestPod.run(node, onNodeNetwork(node));
    const load = new Load(node, new Random(SEED + 1));
    const loaded = load.run(WORKERS);
    // A load that fails is told of below.
    loaded.catch(() => undefined);
    const began = Date.now();
    const wrong: string[] = [];
    let absent = 0;
    for (let restart = 0; restart < RESTARTS; restart++) {
      const witnesses = await Promise.all(Array.from({ length: WITNESSES }, () => Witness.start(pod, random.between(1, 99))));
      await pause(patience(random.between(50, 1_500)));
      await node.containerd.stop(restart % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      await Promise.all(witnesses.map((witness) => witness.end()));
      await pause(patience(random.between(0, 1_000)));
      await node.containerd.start();
      await eventually(() => node.expectReady(), 20_000);
      for (const { container, exitCode } of witnesses) {
        const status = await container.exit();
        if (status.exitCode === exitCode && (await container.log()).at(-1)?.text === 'ended') absent += 1;
        else wrong.push(`container ${container.id}, which ended without containerd: ${status.exitCode} (${status.reason}), not ${exitCode}, log ${JSON.stringify(await container.log())}`);
        await container.remove();
      }
      wrong.push(...(await doubled(node)));
    }
    load.end();
    await loaded;
    const { result } = load;
    t.comment(
      `covered: ${RESTARTS} restarts of containerd in ${Math.round((Date.now() - began) / 1000)} s: ${result.pods} pods, ${result.calls} calls, ${result.trueExits} exit codes of the load, ${absent} of containers that ended without containerd`,
    );
    t.strictSame([...result.wrong, ...wrong], [], 'every exit code and last line is true, no pod is doubled');
    t.equal(absent, RESTARTS * WITNESSES);
    t.ok(result.pods > 0, 'pods came and went');
    t.ok(await exists(`/proc/${daemon}`), 'criquet went on');
    await pod.remove();
    t.strictSame((await node.cri.runtime.listPodSandbox({}, CALL)).items, [], 'every pod was removed');
    t.strictSame(await node.leaksSince(clean, 15_000), [], 'nothing is left');
  },
  { only: 'criquet', ...(form.whole ? {} : { engines: 'newest' }) },
);

/** Ready pods of the same metadata, in words. */
async function doubled(node: TestNode): Promise<string[]> {
  const { items } = await node.cri.runtime.listPodSandbox({ filter: { state: { state: PodSandboxState.SANDBOX_READY } } }, CALL);
  const names = items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}/${metadata?.uid}/${metadata?.attempt}`);
  return names.filter((name, index) => names.indexOf(name) !== index).map((name) => `pod ${name} is there twice`);
}
