import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { CHECKOUT } from './checkout.js';
import { droppedTimes, NOT_APPLIED } from './drop-protocol.js';
import type { TestReference } from './facts.js';
import type { Row } from './rows.js';
import { escapeRegExp } from './test-names.js';

/** A test that is not over by then has failed; `tap` gives each 30 s. */
const RUN_MS = 60_000;
const DROP = join(import.meta.dirname, 'drop.js');

/** What came of taking one row's handling away; `red` is as it should be. */
export interface Trial {
  readonly row: Row;
  readonly outcome: 'red' | 'stayed green' | 'is never on the wire' | 'does not exist' | 'fails by itself' | 'runs no test';
  readonly ms: number;
}

interface Run {
  readonly code: number;
  readonly ran: boolean;
  readonly dropped: number;
}

/** Tries rows, some at once: each one's test must pass as it is and fail when its field is not on the wire. */
export async function mutate(rows: readonly Row[], jobs: number, report: (trial: Trial) => void): Promise<void> {
  const untouched = new Map<string, Promise<Run>>();
  const baseline = (test: TestReference): Promise<Run> => {
    const key = `${test.file}\0${test.name}`;
    const run = untouched.get(key) ?? runTest(test);
    untouched.set(key, run);
    return run;
  };
  const waiting = [...rows];
  const worker = async (): Promise<void> => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      const began = performance.now();
      const outcome = await tryRow(row, baseline);
      report({ row, outcome, ms: performance.now() - began });
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

async function tryRow(row: Row, baseline: (test: TestReference) => Promise<Run>): Promise<Trial['outcome']> {
  const before = await baseline(row.test);
  if (!before.ran) return 'runs no test';
  if (before.code !== 0) return 'fails by itself';
  const without = await runTest(row.test, row.dropped);
  if (without.code === NOT_APPLIED) return 'does not exist';
  if (without.dropped === 0) return 'is never on the wire';
  return without.code === 0 ? 'stayed green' : 'red';
}

/** Runs one test of a compiled file, and no other of it. */
function runTest({ file, name }: TestReference, dropped?: string): Promise<Run> {
  const [, directory = '', path = ''] = /^([^/]+\/[^/]+)\/(.*)$/.exec(file) ?? [];
  const options = {
    cwd: join(CHECKOUT, directory),
    timeout: RUN_MS,
    killSignal: 'SIGKILL' as const,
    maxBuffer: 64 * 1024 * 1024,
    env: {
      ...process.env,
      TAP_GREP: `/^${escapeRegExp(name)}$/`,
      TAP_FILTER_QUIETLY: '1',
      ...(dropped === undefined ? {} : { CRIQUET_DROP: dropped }),
    },
  };
  const args = [...(dropped === undefined ? [] : ['--import', DROP]), `dist/${path}.test.js`];
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      // Killed by the limit it cannot say how often.
      const times = error?.killed === true ? 1 : droppedTimes(stderr);
      resolve({ code, ran: /^(not )?ok \d+ - /m.test(stdout), dropped: times });
    });
  });
}
