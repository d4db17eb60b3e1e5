/* Runs inside the guest: carries out /job/job.json and leaves what it finds in /results. Its output is the node's console. */
import { spawn } from 'node:child_process';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestNode } from '../../harness/node.js';
import { runCritest } from '../../critest/run-critest.js';
import { GUEST, RESULT_FILES, type GuestJob, type GuestStep, type StepOutcome } from '../guest-job.js';
import { focusOn } from '../spec-names.js';

const started = performance.now();
const say = (text: string): void => console.log(`[${((performance.now() - started) / 1000).toFixed(0)} s] ${text}`);

async function critest(step: GuestStep & { kind: 'critest' }): Promise<void> {
  const node = await TestNode.start({ engine: step.engine, runtime: step.runtime });
  say(`${step.name}: the node serves`);
  try {
    const focus = step.specs === undefined ? step.focus : focusOn(step.specs);
    const { results } = await runCritest(node, {
      ...(focus === undefined ? {} : { focus }),
      ...(step.parallel === undefined ? {} : { parallel: step.parallel }),
      logFile: join(GUEST.results, `${step.name}.log`),
      timeoutMs: 3_600_000,
    });
    await writeFile(join(GUEST.results, `${step.name}.json`), JSON.stringify(results));
  } finally {
    await node.keepLogs(join(GUEST.results, step.name));
    await node.dispose();
  }
}

async function suite(step: GuestStep & { kind: 'suite' }): Promise<void> {
  const output = await open(join(GUEST.results, `${step.name}.tap`), 'w');
  try {
    const child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', step.file)], {
      stdio: ['ignore', output.fd, 'inherit'],
      // tap's own limit is 30 s for a file; the guest as a whole has one.
      env: { ...process.env, CRIQUET_E2E_ENGINES: step.engine, TAP: '1', TAP_TIMEOUT: '3600' },
    });
    // What failed is in the TAP.
    await new Promise((resolve, reject) => child.once('exit', resolve).once('error', reject));
  } finally {
    await output.close();
  }
}

const job = JSON.parse(await readFile(join(GUEST.job, 'job.json'), 'utf8')) as GuestJob;
const outcomes: StepOutcome[] = [];
for (const step of job.steps) {
  const begun = performance.now();
  say(`${step.name} ...`);
  const error = await (step.kind === 'critest' ? critest(step) : suite(step)).then(
    () => undefined,
    (reason: unknown) => (reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)),
  );
  const seconds = (performance.now() - begun) / 1000;
  outcomes.push({ name: step.name, seconds, ...(error === undefined ? {} : { error }) });
  say(`${step.name}: ${error === undefined ? 'done' : error} in ${seconds.toFixed(0)} s`);
  await writeFile(join(GUEST.results, RESULT_FILES.outcomes), JSON.stringify(outcomes));
}
