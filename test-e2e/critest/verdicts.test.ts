import t from 'tap';
import { parseJunit } from '../report/junit.js';
import { parseSkipList } from './skip-list.js';
import { judge } from './verdicts.js';

/** A report as ginkgo writes it. */
const REPORT = `<testsuites><testsuite>
  <testcase name="[BeforeSuite]" status="passed" time="0.1"></testcase>
  <testcase name="[It] plain" status="passed" time="1.5"></testcase>
  <testcase name="[It] alone [Serial]" status="passed" time="2"/>
  <testcase name="[It] broken &amp; bent" status="failed" time="3"><failure message="it &lt;broke&gt;" type="failed">trace</failure></testcase>
  <testcase name="[It] shy" status="skipped" time="0"><skipped message="skipped - not advertised"></skipped></testcase>
</testsuite></testsuites>`;

const faults = (skips: string, apparmor = false) =>
  Object.fromEntries(
    judge(parseJunit(REPORT), parseSkipList(skips), { apparmor }).flatMap(({ name, fault }) => (fault === undefined ? [] : [[name, fault]])),
  );

await t.test('the report: names without node type and label, seconds, reasons', async (t) => {
  t.strictSame(parseJunit(REPORT), [
    { name: 'plain', outcome: 'passed', seconds: 1.5, message: '' },
    { name: 'alone', outcome: 'passed', seconds: 2, message: '' },
    { name: 'broken & bent', outcome: 'failed', seconds: 3, message: 'it <broke>' },
    { name: 'shy', outcome: 'skipped', seconds: 0, message: 'skipped - not advertised' },
  ]);
});

await t.test('only passed counts', async (t) => {
  t.strictSame(faults(''), { 'broken & bent': 'failed: it <broke>', shy: 'skipped: skipped - not advertised' });
});

await t.test('a listed spec may fail or skip itself', async (t) => {
  t.strictSame(faults('digest broken & bent\n\n# for readers\nnri  shy\n'), {});
});

await t.test('the list must be true', async (t) => {
  const all = 'digest broken & bent\nnri shy\n';
  t.strictSame(faults(`${all}nri plain`), { plain: 'passed, but is listed as one that cannot (nri)' });
  t.strictSame(faults(`${all}nri nowhere`), { nowhere: 'listed, but critest has no such spec' });
});

await t.test('AppArmor excuses only where the kernel lacks it', async (t) => {
  t.strictSame(faults('digest broken & bent\napparmor shy'), {});
  t.strictSame(faults('digest broken & bent\napparmor shy', true), { shy: 'skipped: skipped - not advertised' });
  t.strictSame(faults('digest broken & bent\nnri shy\napparmor plain', true), {}, 'and may pass where it has it');
});

await t.test('no other reason, no spec twice', async (t) => {
  t.throws(() => parseSkipList('flaky plain'), /not a reason to skip a spec: "flaky plain"/);
  t.throws(() => parseSkipList('nri'), /not a reason/);
  t.throws(() => parseSkipList('nri plain\nbenchmark plain'), /named twice: plain/);
});
