/*
 * Kubernetes' own suites on criquet and on containerd's plugin; the head of scripts/conformance says how it is called.
 * Exits 1 when a spec passes on containerd's plugin only, or with --check when the document does not match the records.
 */
import { parseArgs } from 'node:util';
import { readCommandLine } from '../harness/command-line.js';
import { inOwnNetwork } from '../harness/own-network.js';
import { compareSides, runSidesAtOnce } from './both-sides.js';
import { problems, writeDocument } from './document.js';
import { readCall, type Call } from './call.js';

const { values, call } = readCommandLine(import.meta.filename, () => {
  const { values } = parseArgs({
    options: {
      suite: { type: 'string', default: 'sig-node' },
      engine: { type: 'string', default: '2.4' },
      runtime: { type: 'string', default: 'both' },
      focus: { type: 'string' },
      procs: { type: 'string', default: '4' },
      minutes: { type: 'string', default: '60' },
      'at-once': { type: 'boolean', default: false },
      'update-docs': { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
    },
  });
  return { values, call: readCall(values) };
});

if (values.check) await check();
else if (values.render) await writeDocument();
else await runAndCompare(call);

async function check(): Promise<void> {
  const found = await problems();
  for (const problem of found) process.stderr.write(`${problem}\n`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

async function runAndCompare(call: Call): Promise<void> {
  if (values['at-once']) {
    await runSidesAtOnce(call);
    await compareSides(call, values['update-docs']);
    return;
  }
  // One network namespace for the control planes of both, one after the other.
  await inOwnNetwork(import.meta.url, async () => {
    const { runSides } = await import('./run-sides.js');
    await runSides(call);
    if (call.runtimes.length > 1) await compareSides(call, values['update-docs']);
  });
}
