import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CHECKOUT } from './checkout.js';
import type { TestReference } from './facts.js';
import type { Row } from './rows.js';
import { escapeRegExp } from './test-names.js';
import type { Outcome, TrialReport, TrialRequest } from './trial.js';

const RUN_TRIALS = join(import.meta.dirname, 'run-trials.js');

/** Tries rows, several tests at once: each row's test must pass as it is and fail when the row's field is not on the wire. */
export async function mutate(rows: readonly Row[], jobs: number, report: (row: Row, outcome: Outcome) => void): Promise<void> {
  const waiting = [...byTest(rows).values()];
  const worker = async (): Promise<void> => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) await tryTest(group, report);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

function byTest(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = `${row.test.file}\0${row.test.name}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return groups;
}

/** Rows with the same test. A process that does not survive a trial is followed by another one for the rest. */
async function tryTest(rows: readonly Row[], report: (row: Row, outcome: Outcome) => void): Promise<void> {
  let rest = [...rows];
  while (rest[0] !== undefined) {
    const tried = new Map<string, Outcome>();
    const { hopeless, under } = await runTrials(rest[0].test, rest.map(({ dropped }) => dropped), tried);
    // It ended in the middle of a trial: what was dropped brought it down.
    if (under !== undefined && !tried.has(under)) tried.set(under, 'red');
    const outcomeOf = ({ dropped }: Row): Outcome | undefined => hopeless ?? (tried.size === 0 ? 'fails by itself' : tried.get(dropped));
    for (const row of rest) {
      const outcome = outcomeOf(row);
      if (outcome !== undefined) report(row, outcome);
    }
    rest = rest.filter((row) => outcomeOf(row) === undefined);
  }
}

interface Ended {
  /** Why nothing could be tried. */
  readonly hopeless?: Outcome;
  /** The last trial that began. */
  readonly under?: string;
}

async function runTrials({ file, name }: TestReference, dropped: readonly string[], tried: Map<string, Outcome>): Promise<Ended> {
  const [, directory = '', path = ''] = /^([^/]+\/[^/]+)\/(.*)$/.exec(file) ?? [];
  const cwd = join(CHECKOUT, directory);
  const request: TrialRequest = { file: join(cwd, `dist/${path}.test.js`), name, dropped };
  const child = spawn(process.execPath, [RUN_TRIALS], {
    cwd,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      CRIQUET_TRIALS: JSON.stringify(request),
      TAP_GREP: `/^(${escapeRegExp(name)}|end of the trial)$/`,
      TAP_FILTER_QUIETLY: '1',
      // Of all trials together; each has its own limit.
      TAP_TIMEOUT: '0',
    },
  });
  const closed = once(child, 'close');
  let ended: Ended = {};
  for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
    const report = JSON.parse(line) as TrialReport;
    if ('begins' in report) ended = { under: report.begins };
    else if ('hopeless' in report) ended = { hopeless: report.hopeless };
    else tried.set(report.dropped, report.outcome);
  }
  await closed;
  return ended;
}
