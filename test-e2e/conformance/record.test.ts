import t from 'tap';
import { parseJunit } from '../report/junit.js';
import { differences } from './difference.js';
import { recordProblems, renderDocument } from './document.js';
import { EXPLANATIONS, explanationOf, staleExplanations } from './explanations.js';
import { outcomesOf, withSecondRun } from './outcome.js';
import { formatRecord, parseRecord, type Record } from './record.js';

/** A report as Kubernetes' suites write it: no message at a failure, every spec of the program in it. */
const REPORT = `<testsuites><testsuite>
  <testcase name="[SynchronizedBeforeSuite]" status="passed" time="1"></testcase>
  <testcase name="[It] [sig-node] Pods should run [Serial]" status="passed" time="1.5"></testcase>
  <testcase name="[It] [sig-node] Pods should stop" status="failed" time="3"><failure type="failed">[FAILED] it &lt;broke&gt;&#xA;at x.go</failure></testcase>
  <testcase name="[It] [sig-node] Pods should fly" status="skipped" time="0"><skipped message="skipped - needs 2 nodes"></skipped></testcase>
  <testcase name="[It] [sig-apps] Job should end" status="skipped" time="0"><skipped message="skipped"></skipped></testcase>
</testsuite></testsuites>`;

const report = parseJunit(REPORT, { labelsAfterName: false });
const SPECS = ['[sig-node] Pods should run [Serial]', '[sig-node] Pods should stop', '[sig-node] Pods should fly', '[sig-apps] Job should end', '[sig-apps] Job should be'];

function recordOf(specs: Record['specs']): Record {
  return { suite: 'sig-node', containerd: '2.4.2', kubernetes: 'v1.37.2', criquet: 'abc', date: '2026-11-30', node: 'Linux', seconds: { criquet: 3, containerd: 4 }, specs };
}

await t.test('a spec that was chosen and has no outcome did not run', async (t) => {
  t.strictSame([...outcomesOf(SPECS, report)], [
    [SPECS[0], { outcome: 'passed', message: '' }],
    [SPECS[1], { outcome: 'failed', message: 'it <broke>\nat x.go' }],
    [SPECS[2], { outcome: 'skipped', message: 'needs 2 nodes' }],
    [SPECS[3], { outcome: 'not run', message: '' }],
    [SPECS[4], { outcome: 'not run', message: '' }],
  ]);
});

await t.test('a second run is told from the first, and cannot make a spec worse than it was', async (t) => {
  const first = outcomesOf(SPECS, report);
  const again = new Map([
    ['[sig-node] Pods should stop', { outcome: 'passed', message: '' } as const],
    ['[sig-apps] Job should end', { outcome: 'not run', message: '' } as const],
  ]);
  const merged = withSecondRun(first, again);
  t.equal(merged.get('[sig-node] Pods should stop')?.outcome, 'passed again');
  t.equal(merged.get('[sig-apps] Job should end')?.outcome, 'not run');
});

await t.test('a record comes back as it was written', async (t) => {
  const record = recordOf([
    { name: 'a\u00a0"quoted" spec | with a bar', criquet: 'passed again', containerd: 'not run' },
    { name: 'b', criquet: 'left out', containerd: 'left out' },
  ]);
  t.strictSame(parseRecord(formatRecord(record)), record);
  t.throws(() => parseRecord(formatRecord(record).replace('not run', 'maybe')), /not an outcome: maybe/);
});

await t.test('what did not pass on both is a difference, also when it ran on neither', async (t) => {
  const record = recordOf([
    { name: 'both', criquet: 'passed', containerd: 'passed again' },
    { name: 'ours', criquet: 'passed', containerd: 'failed' },
    { name: 'theirs', criquet: 'skipped', containerd: 'passed' },
    { name: 'none', criquet: 'not run', containerd: 'not run' },
    { name: 'out', criquet: 'left out', containerd: 'left out' },
  ]);
  t.strictSame(differences(record).map(({ name, favour }) => [name, favour]), [['ours', 'criquet'], ['theirs', 'containerd'], ['none', 'open']]);
  const title = 'sig-node on containerd 2.4.2';
  t.strictSame(recordProblems(record), [
    `${title}: 5 specs; the suite has 101`,
    `${title}: passes on containerd's plugin only: theirs`,
    ...['ours', 'theirs', 'none'].map((name) => `${title}: not explained in test-e2e/conformance/explanations.ts: ${name}`),
    `${title}: left out, but not by test-e2e/conformance/left-out.ts: out`,
  ]);
  t.match(renderDocument([record]), /\| 4 \| 2 \| 2 \(1 again\) \| 1 \| 1 \| 1 \| 1 \| 3 \/ 4 \|/);
});

await t.test('an explanation is for specs that it names, and goes with them', async (t) => {
  for (const { suites } of EXPLANATIONS) for (const suite of suites) t.equal(explanationOf(suite, '[sig-node] Nobody knows this spec'), undefined);
  const all = EXPLANATIONS.flatMap(({ suites, specs }) => suites.flatMap((suite) => specs.map((part) => ({ suite, name: `[sig-node] ${part} [Conformance]` }))));
  t.strictSame(staleExplanations(all), []);
  t.strictSame(staleExplanations(all.slice(1)), [EXPLANATIONS[0]?.specs[0]]);
});
