/*
 * Kubernetes' own suites on criquet and on containerd's plugin; the head of scripts/conformance says how it is called.
 * Exits 1 when a spec passes on containerd's plugin only, or with --check when the document does not match the records.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CHECKOUT } from '../cri-support/checkout.js';
import type { Runtime } from '../harness/node.js';
import { inOwnNetwork } from '../harness/own-network.js';
import { problems, writeDocument } from './document.js';
import { suiteOf } from './suite.js';

const { values } = parseArgs({
  options: {
    suite: { type: 'string', default: 'sig-node' },
    engine: { type: 'string', default: '2.4' },
    runtime: { type: 'string', default: 'both' },
    focus: { type: 'string' },
    procs: { type: 'string', default: '4' },
    minutes: { type: 'string', default: '60' },
    'update-docs': { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
  },
});

if (values.check) await check();
else if (values.render) await writeDocument();
else await inOwnNetwork(import.meta.url, runAndCompare);

async function check(): Promise<void> {
  const found = await problems();
  for (const problem of found) process.stderr.write(`${problem}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

async function runAndCompare(): Promise<void> {
  const { runSuite } = await import('./run-suite.js');
  const { formatTable } = await import('./table.js');
  const { differences } = await import('./difference.js');
  const { formatRecord, writeRecord } = await import('./record.js');
  const { writeFile } = await import('node:fs/promises');
  const { engine, focus } = values;
  if (engine !== '2.1' && engine !== '2.4') throw new Error('--engine: 2.1 or 2.4');
  const runtimes = runtimesOf(values.runtime);
  if (values['update-docs'] && (focus !== undefined || runtimes.length < 2)) throw new Error('--update-docs: the whole suite on both runtimes');
  const suite = suiteOf(values.suite);
  const results = join(CHECKOUT, 'results/conformance', `${suite.name}-containerd-${engine}`);
  const { record, sides } = await runSuite({
    suite,
    engine,
    runtimes,
    procs: Number(values.procs),
    minutes: Number(values.minutes),
    results,
    ...(focus === undefined ? {} : { focus }),
  });
  await writeFile(join(results, 'record.tsv'), formatRecord(record));
  process.stdout.write(`${formatTable(record, sides, runtimes)}\nreports and logs: ${results}\n`);
  if (values['update-docs']) {
    process.stdout.write(`recorded: ${await writeRecord(record)}\n`);
    await writeDocument();
  }
  if (runtimes.length === 2 && differences(record).some(({ favour }) => favour === 'containerd')) process.exitCode = 1;
}

function runtimesOf(name: string): Runtime[] {
  if (name === 'both') return ['criquet', 'containerd'];
  if (name === 'criquet' || name === 'containerd') return [name];
  throw new Error('--runtime: both, criquet or containerd');
}
