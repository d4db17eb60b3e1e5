import { needOf } from '@criquet/shim-server/testing';
import t from 'tap';
import { audit, named } from '../harness/audit.js';
import { readEnvironment } from '../harness/environment.js';
import type { TestNode } from '../harness/node.js';
import { onEachEngine, type Test } from '../harness/on-each-engine.js';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import { removeEverything, runBatch } from './batch.js';
import { Coverage, unprovided } from './coverage.js';
import { planBatches, readForm } from './form.js';
import { scenarios } from './scenarios/index.js';
import { LASTING, onNodeNetwork, VOLUMES_IMAGE, volumesContainer } from './scenarios/configs.js';
import { NATIVE_HANDLER } from './scenarios/images.js';

// R8: SIGKILL at every step of every changing call, and of what criquet does by itself. The steps are those of its own registry.

/** What is left, as criquet itself sees it. */
async function expectAudited(t: Test, node: TestNode): Promise<void> {
  const found = await audit(node);
  t.strictSame([found.code, named(found, 'orphan'), found.problems], [0, [], []], 'the audit agrees');
}

const form = readForm();
const environment = readEnvironment();
const { criuDirectory } = environment;
const hasCriu = criuDirectory !== undefined;
const possible = scenarios.filter(({ provides = [] }) => hasCriu || !provides.includes('a checkpoint'));
const batches = planBatches(possible, form);

t.comment(form.whole ? 'the whole matrix' : `CRIQUET_FAULTS_TURN=${form.turn}`);

await onEachEngine(
  'R8: killed at any step',
  async (t, node) => {
    const coverage = new Coverage();
    // What is made once for a node and stays: images, and what is found out about them.
    for (const image of [BUSYBOX, VOLUMES_IMAGE]) await node.cri.image.pullImage({ image: { image } }, CALL);
    const pod = await TestPod.run(node, onNodeNetwork(node));
    await pod.start(volumesContainer(LASTING));
    await removeEverything(node);
    const clean = await node.state();

    for (const batch of batches) {
      const { scenario, points, aftermath } = batch;
      await t.test(`${scenario.name}: ${points.length} deaths, then ${aftermath}`, async (t) => {
        let died = false;
        try {
          await runBatch(t, node, clean, batch);
          if (form.whole) await expectAudited(t, node);
          coverage.add(points);
          died = true;
        } finally {
          // The next one is not to suffer for this.
          if (!died || !t.passing()) await node.startAfresh();
        }
      });
    }

    await t.test('criquet audit says the same', (t) => expectAudited(t, node));
    t.comment(`covered: ${coverage.summary()} in ${scenarios.length} kinds of calls${form.whole ? '' : ` (CRIQUET_FAULTS_TURN=${form.turn})`}`);
    if (form.only.length > 0) return;
    await t.test('no step of the registry is without a death', (t) => {
      t.strictSame(coverage.missing(form.whole, (place) => needOf(place) === 'a checkpoint' && !hasCriu), []);
      // SELinux: no policy on the machines of these suites; its component test is selinux.test.ts.
      t.strictSame(unprovided(scenarios), ['SELinux']);
      t.end();
    });
    if (!hasCriu) await t.test('checkpoints', { skip: 'no CRIU that works with this kernel is to be had here' }, () => undefined);
  },
  {
    only: 'criquet',
    ...(form.whole ? {} : { engines: 'newest' }),
    ...(criuDirectory === undefined ? {} : { environment: { ...environment, tools: [criuDirectory, ...environment.tools] } }),
    withFailpoints: true,
    sandboxImage: 'registry.k8s.io/pause:3.10',
    snapshotters: ['overlayfs', 'native'],
    extraConfig: `[runtime.handlers.runc]\n[runtime.handlers.${NATIVE_HANDLER}]\nsnapshotter = "native"\n`,
  },
);
