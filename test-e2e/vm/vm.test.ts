/*
 * critest and this package's suites on a node with its own kernel. `CRIQUET_VM_CHOICE=whole` runs the whole of critest on user-mode
 * Linux beside the choice under QEMU.
 */
import { createReadStream } from 'node:fs';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { formatResults } from '../critest/report.js';
import { readEnvironment } from '../harness/environment.js';
import { layOutJob } from './job-files.js';
import { chosenGuests, type GuestPlan } from './plan.js';
import { kernelFile, SLOWNESS, systemImage } from './provided.js';
import { readCritestResults, readOutcomes } from './results.js';
import { runGuest } from './run-guest.js';

const environment = readEnvironment();

for (const plan of await chosenGuests(environment, process.env.CRIQUET_VM_CHOICE === 'whole')) {
  await t.test(plan.name, (t) => runPlan(t, plan));
}

async function runPlan(t: Test, plan: GuestPlan): Promise<void> {
  // Where scripts/test sweeps up after a run that was cut off, the guest included.
  const directory = await mkdtemp(join(environment.root, 'criquet-vm-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const resultsDirectory = join(environment.checkout, 'results', 'vm', plan.powerCut === true ? `${plan.kernel}-power-cut` : plan.kernel);
  const laidOut = performance.now();
  await layOutJob(join(directory, 'job'), environment, { steps: plan.steps }, SLOWNESS[plan.kernel]);
  t.comment(`job laid out in ${((performance.now() - laidOut) / 1000).toFixed(0)} s`);
  const end = await runGuest({
    kernel: plan.kernel,
    image: systemImage(),
    kernelFile: kernelFile(plan.kernel),
    jobDirectory: join(directory, 'job'),
    workDirectory: join(directory, 'work'),
    resultsDirectory,
    timeoutMs: plan.timeoutMs,
    powerCut: plan.powerCut === true,
    onLine: (line) => {
      t.comment(line);
    },
  });
  const outcomes = await readOutcomes(resultsDirectory);
  t.equal(end.exitCode, 0, 'the guest ends its job', { resultsDirectory });
  t.comment(`${plan.name}: ${end.seconds.toFixed(0)} s, ${end.boots} boots`);
  for (const step of plan.steps) {
    const outcome = outcomes.find(({ name }) => name === step.name);
    await t.test(step.name, async (t) => {
      t.equal(outcome?.error, undefined, 'the step is carried out');
      t.comment(`${step.name}: ${outcome?.seconds.toFixed(0) ?? '?'} s`);
      if (step.kind === 'suite') {
        const tap = join(resultsDirectory, `${step.name}.tap`);
        const there = await access(tap).then(
          () => true,
          () => false,
        );
        if (there) await t.stdin(step.file, { tapStream: createReadStream(tap) });
        else t.fail('no output');
        return;
      }
      const results = await readCritestResults(resultsDirectory, step.name);
      t.comment(formatResults(`critest in ${plan.name}`, results));
      const log = join(resultsDirectory, `${step.name}.log`);
      t.ok(results.length > 0, 'critest has a report');
      for (const { name, fault } of plan.judge(results)) t.equal(fault, undefined, name, { log });
    });
  }
}
