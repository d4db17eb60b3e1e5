import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Runtime } from '../harness/node.js';
import { OUTCOMES, type SpecOutcome } from './outcome.js';
import type { Record } from './record.js';
import type { SuiteName } from './suite.js';

/** A suite's run on one runtime; the fields are those of `Record`. */
export interface Side extends Pick<Record, 'containerd' | 'kubernetes' | 'criquet' | 'date' | 'node'> {
  readonly runtime: Runtime;
  /** How long the specs took. */
  readonly seconds: number;
  readonly specs: readonly ({ readonly name: string } & SpecOutcome)[];
}

/** Keeps a side until both are there. */
export async function writeSide(directory: string, side: Side): Promise<void> {
  await writeFile(join(directory, `${side.runtime}.json`), JSON.stringify(side, null, 1));
}

export async function readSide(directory: string, runtime: Runtime): Promise<Side> {
  return JSON.parse(await readFile(join(directory, `${runtime}.json`), 'utf8')) as Side;
}

/** Puts both sides together. Throws when they are not of the same specs and versions. */
export function joinSides(suite: SuiteName, criquet: Side, containerd: Side): Record {
  const theirs = new Map(containerd.specs.map((spec) => [spec.name, spec.outcome]));
  for (const fact of ['containerd', 'kubernetes', 'node'] as const) {
    if (criquet[fact] !== containerd[fact]) throw new Error(`the sides differ in ${fact}: ${criquet[fact]}, ${containerd[fact]}`);
  }
  if (theirs.size !== criquet.specs.length) throw new Error(`the sides have ${criquet.specs.length} and ${theirs.size} specs`);
  return {
    suite,
    containerd: criquet.containerd,
    kubernetes: criquet.kubernetes,
    criquet: criquet.criquet,
    date: criquet.date,
    node: criquet.node,
    seconds: { criquet: criquet.seconds, containerd: containerd.seconds },
    specs: criquet.specs.map(({ name, outcome }) => {
      const other = theirs.get(name);
      if (other === undefined) throw new Error(`only one side has the spec ${name}`);
      return { name, criquet: outcome, containerd: other };
    }),
  };
}

/** Totals, then each spec that did not pass with what was said about it. */
export function formatSide({ runtime, seconds, specs }: Side): string {
  const counts = OUTCOMES.map((outcome) => [outcome, specs.filter((spec) => spec.outcome === outcome).length] as const);
  const listed = specs.filter(({ outcome }) => outcome !== 'left out' && outcome !== 'passed');
  return [
    `${runtime}: ${counts.filter(([, count]) => count > 0).map(([outcome, count]) => `${count} ${outcome}`).join(', ')}; ${seconds} s`,
    ...listed.flatMap(({ name, outcome, message }) => [`${outcome}: ${name}`, ...quoted(message)]),
  ].join('\n');
}

/** The beginning of what a spec said. */
function quoted(message: string): string[] {
  return message
    .trim()
    .split('\n')
    .slice(0, 6)
    .filter((line) => line !== '')
    .map((line) => `    ${line.slice(0, 240)}`);
}
