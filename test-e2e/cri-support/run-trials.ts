/**
 * The process in which one test is tried (`mutate.ts` starts it): the test's file is imported anew for every trial, while the modules
 * that it imports stay loaded. The request comes in CRIQUET_TRIALS.
 */
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { drop } from './drop.js';
import type { Outcome, TrialReport, TrialRequest } from './trial.js';

/** A test that has not ended by then has failed, and with it this process: what it still holds would disturb the next trial. */
const TRIAL_MS = 30_000;
const REPORTS = 3;

const { file, name, dropped } = JSON.parse(process.env.CRIQUET_TRIALS ?? '') as TrialRequest;
let imports = 0;

/** Whether the test passed; undefined when the file has none of that name. */
async function runTest(): Promise<boolean | undefined> {
  let passed: boolean | undefined;
  const ended = (child: { name: string; passing(): boolean; options: { skip?: unknown } }): void => {
    if (child.name === name && child.options.skip === undefined) passed = child.passing();
  };
  t.on('subtestEnd', ended);
  await import(`${pathToFileURL(file).href}?trial=${imports++}`);
  // Tests run in the order in which they are added: when this one ends, the file's have.
  await t.test('end of the trial', { skip: false }, () => Promise.resolve());
  t.off('subtestEnd', ended);
  return passed;
}

async function trial(what: string): Promise<Outcome> {
  const away = drop(what);
  if (away === undefined) return 'does not exist';
  const passed = await runTest();
  away.restore();
  if (away.times() === 0) return 'is never on the wire';
  return passed === true ? 'stayed green' : 'red';
}

function report(line: TrialReport): void {
  writeSync(REPORTS, `${JSON.stringify(line)}\n`);
}

const untouched = await runTest();
if (untouched !== true) report({ hopeless: untouched === undefined ? 'runs no test' : 'fails by itself' });
else {
  for (const what of dropped) {
    report({ begins: what });
    const limit = setTimeout(() => {
      report({ dropped: what, outcome: 'red' });
      process.exit(1);
    }, TRIAL_MS);
    report({ dropped: what, outcome: await trial(what) });
    clearTimeout(limit);
  }
}
// Nothing of a failed test may keep the process.
process.exit(0);
