/*
 * A node with its own kernel by hand:
 *   node test-e2e/dist/vm/main.js [--kernel qemu|uml] [--engine 2.1|2.4] [--runtime criquet|containerd]
 *                                 [--focus REGEXP] [--suite vm/node.test.js]... [--results DIRECTORY] [--run SCRIPT] [--minutes 30]
 */
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { formatResults } from '../critest/report.js';
import { countOf, oneOf, readCommandLine } from '../harness/command-line.js';
import { countTap } from '../report/tap-counts.js';
import { readEnvironment } from '../harness/environment.js';
import { NODE_REBOOT, type GuestJob, type GuestStep } from './guest-job.js';
import { layOutJob } from './job-files.js';
import { kernelFile, SLOWNESS, systemImage } from './provided.js';
import { readCritestResults, readOutcomes } from './results.js';
import { runGuest } from './run-guest.js';

const { values, kernel, engine, runtime, minutes } = readCommandLine(import.meta.filename, () => {
  const { values } = parseArgs({
    options: {
      kernel: { type: 'string', default: 'qemu' },
      engine: { type: 'string', default: '2.4' },
      runtime: { type: 'string', default: 'criquet' },
      focus: { type: 'string' },
      suite: { type: 'string', multiple: true, default: [] },
      results: { type: 'string', default: 'results/vm' },
      run: { type: 'string' },
      minutes: { type: 'string', default: '30' },
    },
  });
  return {
    values,
    kernel: oneOf('--kernel', values.kernel, ['qemu', 'uml']),
    engine: oneOf('--engine', values.engine, ['2.1', '2.4']),
    runtime: oneOf('--runtime', values.runtime, ['criquet', 'containerd']),
    minutes: countOf('--minutes', values.minutes),
  };
});

const steps: GuestStep[] = values.suite.map((file, index) => ({ kind: 'suite', name: `suite-${index}`, engine, file }));
if (values.focus !== undefined || (steps.length === 0 && values.run === undefined)) {
  steps.push({ kind: 'critest', name: 'critest', engine, runtime, ...(values.focus === undefined ? {} : { focus: values.focus }) });
}
const job: GuestJob = { steps };
const directory = await mkdtemp(join(tmpdir(), 'criquet-vm-'));
const resultsDirectory = resolve(values.results);
try {
  await layOutJob(join(directory, 'job'), readEnvironment(), job, SLOWNESS[kernel]);
  if (values.run !== undefined) await copyFile(values.run, join(directory, 'job', 'run'));
  const end = await runGuest({
    kernel,
    image: systemImage(),
    kernelFile: kernelFile(kernel),
    jobDirectory: join(directory, 'job'),
    workDirectory: join(directory, 'work'),
    resultsDirectory,
    timeoutMs: minutes * 60_000,
    powerCut: values.suite.includes(NODE_REBOOT),
    onLine: (line) => {
      console.log(line);
    },
  });
  console.log(`${kernel}: exit code ${end.exitCode ?? 'none'} after ${end.seconds.toFixed(0)} s, ${end.boots} boots; see ${resultsDirectory}`);
  for (const outcome of await readOutcomes(resultsDirectory)) console.log(`${outcome.name}: ${outcome.seconds.toFixed(0)} s ${outcome.error ?? ''}`);
  let failed = false;
  for (const step of steps) {
    if (step.kind === 'critest') console.log(formatResults(step.name, await readCritestResults(resultsDirectory, step.name)));
    else {
      const counts = countTap(await readFile(join(resultsDirectory, `${step.name}.tap`), 'utf8').catch(() => ''));
      console.log(`${step.file}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
      failed ||= counts.failed > 0 || counts.passed === 0;
    }
  }
  // The guest ends well also when a suite in it does not.
  process.exitCode = end.exitCode === 0 && failed ? 1 : (end.exitCode ?? 125);
} finally {
  await rm(directory, { recursive: true, force: true });
}
