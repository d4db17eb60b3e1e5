/*
 * Specs of Kubernetes' conformance suite that have to do with the runtime (`subset.txt`), unmodified, on a cluster of one node on
 * criquet: each must pass, and at once. `scripts/conformance` runs all of them, on both runtimes.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { enginesUnderTest, findTool } from '../harness/environment.js';
import { Site } from '../harness/kubernetes/site.js';
import { literal } from './ginkgo.js';
import { runSide } from './run-side.js';
import { suiteOf, type Suite } from './suite.js';

const SUITE: Suite = { ...suiteOf('all'), title: 'Chosen conformance specs' };

const site = await Site.open();
t.teardown(() => site.close());
const { environment } = site;
const engine = enginesUnderTest(environment).at(-1);
if (engine === undefined) throw new Error('no containerd to test on');
const text = await readFile(join(environment.checkout, 'test-e2e/conformance/subset.txt'), 'utf8');
const specs = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

if ((await findTool(environment, SUITE.program)) === undefined) {
  await t.test('conformance specs', { skip: `${SUITE.program} is not there: it is built with Go` }, () => undefined);
} else {
  await t.test(`conformance specs on criquet, containerd ${engine}`, async (t) => {
    const results = join(environment.checkout, 'results/conformance/chosen');
    const { outcomes, seconds } = await runSide({
      site,
      suite: SUITE,
      engine,
      runtime: 'criquet',
      specs,
      focus: specs.map(literal),
      procs: 4,
      again: false,
      minutes: 8,
      results,
    });
    t.comment(`${specs.length} specs in ${seconds} s; reports and logs: ${results}`);
    for (const [name, { outcome, message }] of outcomes) t.equal(outcome, 'passed', name, { message });
  });
}
