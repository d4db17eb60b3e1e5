/* docs/cri-support.md; the head of scripts/cri-support says how it is called. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { countOf, readCommandLine } from '../harness/command-line.js';
import { CHECKOUT } from './checkout.js';
import { readDefinition } from './definition.js';
import { FACTS } from './facts/index.js';
import { mutate } from './mutate.js';
import { problems } from './problems.js';
import { render } from './render.js';
import { sampleRows, testedRows, type Row } from './rows.js';
import { readTestNames, type TestNames } from './test-names.js';

const DOCUMENT = join(CHECKOUT, 'docs/cri-support.md');

const { values, positionals, sample, jobs } = readCommandLine(import.meta.filename, () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      check: { type: 'boolean', default: false },
      mutate: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      sample: { type: 'string' },
      seed: { type: 'string' },
      jobs: { type: 'string', default: '2' },
    },
  });
  if (!values.mutate && positionals.length > 0) throw new Error(`${positionals.join(' ')}: only with --mutate`);
  if (values.mutate && !values.all && values.sample === undefined && positionals.length === 0) throw new Error('--mutate: which rows, or --sample or --all');
  const sample = values.sample === undefined ? undefined : countOf('--sample', values.sample);
  return { values, positionals, sample, jobs: countOf('--jobs', values.jobs) };
});
const services = await readDefinition(join(CHECKOUT, 'proto/cri'));
process.exitCode = values.mutate ? await tryRows() : values.check ? await check() : await write();

async function write(): Promise<number> {
  await writeFile(DOCUMENT, render(services, FACTS));
  return tell(await problems(services, FACTS, findTests));
}

async function check(): Promise<number> {
  const written = await readFile(DOCUMENT, 'utf8').catch(() => '');
  const stale = written === render(services, FACTS) ? [] : ['docs/cri-support.md is out of date: run scripts/cri-support'];
  return tell([...(await problems(services, FACTS, findTests)), ...stale]);
}

function tell(lines: readonly string[]): number {
  for (const line of lines) process.stderr.write(`${line}\n`);
  return lines.length === 0 ? 0 : 1;
}

async function findTests(file: string): Promise<TestNames | undefined> {
  return readTestNames(join(CHECKOUT, `${file}.test.ts`)).catch(() => undefined);
}

async function tryRows(): Promise<number> {
  const rows = await chosenRows();
  let bad = 0;
  await mutate(rows, jobs, (row, outcome) => {
    if (outcome !== 'red') bad += 1;
    const how = outcome === 'red' ? 'red without it' : outcome.toUpperCase();
    process.stdout.write(`${row.name}: ${how} (${row.test.name})\n`);
  });
  process.stdout.write(`${rows.length - bad} of ${rows.length} rows name a test that goes red\n`);
  return bad === 0 && rows.length > 0 ? 0 : 1;
}

async function chosenRows(): Promise<Row[]> {
  const rows = testedRows(services, FACTS);
  if (values.all) return rows;
  if (sample !== undefined) {
    const seed = values.seed ?? (await commit());
    process.stdout.write(`a sample of ${sample} of ${rows.length} rows, --seed ${seed}\n`);
    return sampleRows(rows, sample, seed);
  }
  return rows.filter(({ name }) => positionals.some((wanted) => name === wanted || name.startsWith(`${wanted}.`)));
}

/** Another sample with every commit, and the same one when it is run again. */
async function commit(): Promise<string> {
  const git = promisify(execFile)('git', ['rev-parse', 'HEAD'], { cwd: CHECKOUT });
  return git.then(({ stdout }) => stdout.trim(), () => 'none');
}
