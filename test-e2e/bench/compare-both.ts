import { loadavg } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT } from '../cri-support/checkout.js';
import type { NodeOptions } from '../harness/node.js';
import { Caller } from './caller/caller.js';
import { ClientCost } from './caller/client-cost.js';
import type { Call } from './call.js';
import { renderPlots, writeDocument, writeFiles } from './document.js';
import { MEASURES } from './figures/index.js';
import { describeMachine } from './machine.js';
import { runFigures } from './run-figures.js';
import { rounded, samplesName, SAMPLES_DIRECTORY, writeRun, type BenchRun } from './samples.js';
import { sharedRegistry } from './shared-registry.js';
import { Side } from './side.js';
import { summarise } from './summary.js';
import { formatTable } from './table.js';
import { ceilingInWords } from './words.js';
import { readVersions } from './versions.js';

/** Measures both, leaves samples and plots in `call.out` and in the docs where they are wanted, and returns the table. */
export async function compareBoth(call: Call, say: (line: string) => void): Promise<string> {
  const run = await measure(call, say);
  await writeRun(join(call.out, samplesName(call.engine)), run);
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

async function measure({ engine, figures, scale }: Call, say: (line: string) => void): Promise<BenchRun> {
  const began = Date.now();
  const [loadBefore = 0] = loadavg();
  const clientCost = new ClientCost();
  using caller = new Caller();
  await using registry = await sharedRegistry();
  const sides: Side[] = [];
  try {
    for (const runtime of ['criquet', 'containerd'] as const) {
      const options: NodeOptions = { engine, runtime, registry };
      sides.push(await Side.start(options, caller, clientCost));
    }
    const [, plugin] = sides as [Side, Side];
    const versions = await readVersions(plugin);
    const samples = await runFigures(figures, sides, scale, say);
    return {
      version: 1,
      date: new Date(began).toISOString().slice(0, 10),
      engine,
      versions,
      machine: await describeMachine(),
      loadBefore: rounded(loadBefore),
      minutes: rounded((Date.now() - began) / 60_000),
      ...(scale.rounds === undefined ? {} : { rounds: scale.rounds }),
      clientCallsPerSecond: clientCost.callsPerSecond(),
      samples: Object.fromEntries(
        Object.entries(samples).map(([name, bySide]) => [name, Object.fromEntries(Object.entries(bySide).map(([side, values]) => [side, values.map(rounded)]))]),
      ),
    };
  } finally {
    for (const side of sides) await side.dispose();
  }
}
