import { loadavg } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT } from '../cri-support/checkout.js';
import type { NodeOptions, Runtime } from '../harness/node.js';
import { Caller } from './caller/caller.js';
import { ClientCost } from './caller/client-cost.js';
import type { Call } from './call.js';
import { renderPlots, writeDocument, writeFiles } from './document.js';
import { MEASURES } from './figures/index.js';
import { describeMachine } from './machine.js';
import { runFigures, type Samples } from './run-figures.js';
import { rounded, samplesName, SAMPLES_DIRECTORY, writeRun, type BenchRun } from './samples.js';
import { sharedRegistry } from './shared-registry.js';
import { Side } from './side.js';
import { summarise } from './summary.js';
import { formatTable } from './table.js';
import { ceilingInWords } from './words.js';
import { readVersions } from './versions.js';

/** The yardstick last. */
const RUNTIMES: readonly Runtime[] = ['criquet', 'containerd'];

/**
 * Measures both, leaves samples and plots in `call.out` and in the docs where they are wanted, and returns the table. A run that fails leaves the samples of
 * the figures before.
 */
export async function compareBoth(call: Call, say: (line: string) => void): Promise<string> {
  const file = join(call.out, samplesName(call.engine));
  const run = await measure(call, say, (soFar) => writeRun(file, soFar));
  await writeFiles(call.out, renderPlots(run, `plots-${call.engine}`));
  if (call.updateDocs) {
    await writeRun(join(CHECKOUT, SAMPLES_DIRECTORY, samplesName(call.engine)), run);
    await writeDocument();
  }
  return [
    `containerd ${run.versions.containerd}: medians (95 of 100 samples are not worse)`,
    formatTable(summarise(MEASURES, run.samples), !call.scale.smoke),
    ...(call.scale.smoke ? ['A smoke run: these numbers mean nothing.'] : []),
    ...ceilingInWords(run),
    `samples and plots: ${call.out}`,
  ].join('\n');
}

async function measure({ engine, figures, scale }: Call, say: (line: string) => void, write: (soFar: BenchRun) => Promise<void>): Promise<BenchRun> {
  const began = Date.now();
  const [loadBefore = 0] = loadavg();
  const clientCost = new ClientCost();
  using caller = new Caller();
  await using registry = await sharedRegistry();
  const sides: Side[] = [];
  try {
    for (const runtime of RUNTIMES) {
      const options: NodeOptions = { engine, runtime, registry };
      sides.push(await Side.start(options, caller, clientCost));
    }
    const versions = await readVersions(sides.at(-1) as Side);
    const machine = await describeMachine();
    const runOf = (samples: Samples): BenchRun => ({
      version: 1,
      date: new Date(began).toISOString().slice(0, 10),
      engine,
      versions,
      machine,
      loadBefore: rounded(loadBefore),
      minutes: rounded((Date.now() - began) / 60_000),
      ...(scale.rounds === undefined ? {} : { rounds: scale.rounds }),
      clientCallsPerSecond: clientCost.callsPerSecond(),
      samples: roundedSamples(samples),
    });
    return runOf(await runFigures({ figures, sides, scale, say, keep: (samples) => write(runOf(samples)) }));
  } finally {
    for (const side of sides) await side.dispose();
  }
}

function roundedSamples(samples: Samples): BenchRun['samples'] {
  const roundedSides = (sides: Samples[string]) => Object.fromEntries(Object.entries(sides).map(([side, values]) => [side, values.map(rounded)]));
  return Object.fromEntries(Object.entries(samples).map(([name, sides]) => [name, roundedSides(sides)]));
}
