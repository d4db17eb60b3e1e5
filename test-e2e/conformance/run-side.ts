import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '../harness/environment.js';
import { findProgram } from '../harness/kubernetes/find-program.js';
import type { Site } from '../harness/kubernetes/site.js';
import type { Runtime } from '../harness/node.js';
import type { Place } from '../harness/place.js';
import { literal, runGinkgo, type Choice } from './ginkgo.js';
import { partsLeftOut } from './left-out.js';
import { hasPassed, outcomesOf, withSecondRun, type Outcomes } from './outcome.js';
import { runOnCluster } from './on-cluster.js';
import { runOnOwnNode } from './on-own-node.js';
import type { Suite } from './suite.js';

export interface SideOptions {
  readonly site: Site;
  readonly suite: Suite;
  readonly engine: Engine;
  readonly runtime: Runtime;
  /** Names of the specs to run. */
  readonly specs: readonly string[];
  /** Regular expressions that choose them among the suite's. Default: all that are not left out. */
  readonly focus?: readonly string[];
  readonly procs: number;
  /** Whether those that failed are run once more. */
  readonly again: boolean;
  /** Minutes for all of them. */
  readonly minutes: number;
  /** Where reports and logs are kept. */
  readonly results: string;
}

/** How a suite is run where its cluster or node is there. */
export interface Target {
  /** Arguments of the suite. */
  readonly args: readonly string[];
  /** Programs that the suite looks for where it is itself. */
  readonly beside?: readonly string[];
  /** Where it runs. Default: beside the control plane, in the namespaces of this process. */
  readonly place?: Place;
  /** Copies logs of daemons. */
  keepLogs(directory: string): Promise<void>;
}

export interface SideResult {
  readonly outcomes: Outcomes;
  /** How long the first run of all specs took. */
  readonly seconds: number;
}

/** More failures than that are no accident, and are not run again. */
const MOST_AGAIN = 30;

/** Runs a suite on one runtime. */
export async function runSide(options: SideOptions): Promise<SideResult> {
  const on = options.suite.program === 'e2e.test' ? runOnCluster : runOnOwnNode;
  return on(options, (target) => runOnTarget(options, target));
}

async function runOnTarget(options: SideOptions, target: Target): Promise<SideResult> {
  const { specs, results, procs, focus } = options;
  try {
    const began = Date.now();
    const first = await runSpecs(options, target, { specs, focus: focus ?? [], procs, name: 'first' });
    const seconds = Math.round((Date.now() - began) / 1000);
    const failed = specs.filter((name) => !hasPassed(first.get(name)?.outcome ?? 'not run') && first.get(name)?.outcome !== 'skipped');
    if (!options.again || failed.length === 0 || failed.length > MOST_AGAIN) return { outcomes: first, seconds };
    const second = await runSpecs(options, target, { specs: failed, focus: failed.map(literal), procs: 1, name: 'again' });
    return { outcomes: withSecondRun(first, second), seconds };
  } finally {
    await target.keepLogs(results);
  }
}

interface Round {
  readonly specs: readonly string[];
  readonly focus: readonly string[];
  readonly procs: number;
  /** Names its report. */
  readonly name: string;
}

async function runSpecs({ site, suite, minutes, results }: SideOptions, target: Target, round: Round): Promise<Outcomes> {
  const { environment } = site;
  const directory = join(site.directory, `ginkgo-${round.name}`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(results, { recursive: true });
  const choice: Choice = { labels: suite.labels, focus: round.focus, skip: partsLeftOut(suite.name).map(({ part }) => literal(part)) };
  try {
    const report = await runGinkgo({
      ginkgo: await findProgram(environment, 'ginkgo'),
      program: await findProgram(environment, suite.program),
      choice,
      args: target.args,
      procs: round.procs,
      directory,
      // Straight into what is kept, also when the run is interrupted.
      output: join(results, `${round.name}-output.log`),
      tools: environment.tools,
      minutes,
      beside: target.beside ?? [],
      ...(target.place === undefined ? {} : { place: target.place }),
    });
    return outcomesOf(round.specs, report);
  } finally {
    for (const name of ['junit_01.xml', 'kubelet.log', 'services.log']) {
      await copyFile(join(directory, name), join(results, `${round.name}-${name}`)).catch(() => undefined);
    }
  }
}
