import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Engine } from '../harness/environment.js';
import type { Runtime } from '../harness/node.js';
import type { Machine } from './machine.js';

/** What one run of `scripts/bench` measured: everything that its tables and plots are made of. */
export interface BenchRun {
  /** Of this form. */
  readonly version: 1;
  /** Year, month and day, in UTC. */
  readonly date: string;
  readonly engine: Engine;
  readonly versions: Readonly<Record<'criquet' | 'containerd' | 'runc' | 'cni' | 'node', string>>;
  readonly machine: Machine;
  /** Processes that wanted a processor in the minute before the run, as the kernel averages them. */
  readonly loadBefore: number;
  readonly minutes: number;
  /** What `--rounds` said; absent: each figure's own number. */
  readonly rounds?: number;
  /** Calls that the client itself could have made in a second of CPU, by the call's name. */
  readonly clientCallsPerSecond: Readonly<Record<string, number>>;
  /** By measure, in the measure's unit, in the order of the rounds. */
  readonly samples: Readonly<Record<string, Readonly<Partial<Record<Runtime, readonly number[]>>>>>;
}

/** Where committed samples lie, from the checkout's root. */
export const SAMPLES_DIRECTORY = 'docs/benchmarks';

export async function writeRun(file: string, run: BenchRun): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, formatRun(run));
}

/** JSON, the samples of a measure in a line. */
export function formatRun(run: BenchRun): string {
  const lines = Object.entries(run.samples).map(([name, sides]) => `    ${JSON.stringify(name)}: ${JSON.stringify(sides)}`);
  const { samples: _, ...rest } = run;
  const head = JSON.stringify(rest, null, 2).replace(/\n\}$/, '');
  return `${head},\n  "samples": {\n${lines.join(',\n')}\n  }\n}\n`;
}

/** @throws when it is none of this form */
export function parseRun(text: string): BenchRun {
  const run = JSON.parse(text) as BenchRun;
  if (run.version !== 1) throw new Error(`samples of version ${String(run.version)}`);
  return run;
}

export function samplesName(engine: Engine): string {
  return `samples-${engine}.json`;
}

/** The committed runs, the oldest containerd first. */
export async function readRuns(directory: string): Promise<BenchRun[]> {
  const names = (await readdir(directory)).filter((name) => /^samples-.*\.json$/.test(name)).sort();
  return Promise.all(names.map(async (name) => parseRun(await readFile(join(directory, name), 'utf8'))));
}

/** Four digits say more than a repetition of the run would confirm, and keep the files small. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
