import { mkdir, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../harness/environment.js';
import { findProgram } from '../harness/kubernetes/find-program.js';
import { Site } from '../harness/kubernetes/site.js';
import type { Runtime } from '../harness/node.js';
import { run } from '../harness/run.js';
import { literal, listSpecs } from './ginkgo.js';
import { reasonToLeaveOut, partsLeftOut } from './left-out.js';
import type { Outcome, Outcomes, SpecOutcome } from './outcome.js';
import { runSide, type SideResult } from './run-side.js';
import type { Record } from './record.js';
import type { Suite } from './suite.js';

export interface SuiteOptions {
  readonly suite: Suite;
  readonly engine: Engine;
  readonly runtimes: readonly Runtime[];
  /** A regular expression: only specs whose names match. */
  readonly focus?: string;
  readonly procs: number;
  readonly minutes: number;
  /** Below which each runtime's reports and logs are kept. */
  readonly results: string;
}

export interface SuiteRun {
  readonly record: Record;
  readonly sides: { readonly criquet: Outcomes; readonly containerd: Outcomes };
}

/** Runs a suite on each runtime in turn. Must be called in a network namespace of its own. */
export async function runSuite(options: SuiteOptions): Promise<SuiteRun> {
  const { suite, engine, results, runtimes, procs, minutes } = options;
  const site = await Site.open();
  try {
    const chosen = await chosenSpecs(site, options);
    const specs = chosen.filter((name) => reasonToLeaveOut(suite.name, name) === undefined);
    if (specs.length === 0) throw new Error('no spec of that suite has such a name, or all of them are left out');
    const sides: { [side in Runtime]?: SideResult } = {};
    for (const runtime of runtimes) {
      process.stdout.write(`${specs.length} specs of ${suite.name} on ${runtime}, containerd ${engine}\n`);
      const directory = join(results, runtime);
      await mkdir(directory, { recursive: true });
      const focus = options.focus !== undefined ? [options.focus] : suite.specs?.map(literal);
      const side = { site, suite, engine, runtime, specs, procs, minutes, again: true, results: directory };
      sides[runtime] = await runSide(focus === undefined ? side : { ...side, focus });
    }
    const outcome = (runtime: Runtime, name: string): Outcome =>
      reasonToLeaveOut(suite.name, name) === undefined ? (sides[runtime]?.outcomes.get(name)?.outcome ?? 'not run') : 'left out';
    const none = new Map<string, SpecOutcome>();
    return {
      record: {
        suite: suite.name,
        ...(await versions(site, engine)),
        date: new Date().toISOString().slice(0, 10),
        node: await describeNode(),
        seconds: { criquet: sides.criquet?.seconds ?? 0, containerd: sides.containerd?.seconds ?? 0 },
        specs: chosen.map((name) => ({ name, criquet: outcome('criquet', name), containerd: outcome('containerd', name) })),
      },
      sides: { criquet: sides.criquet?.outcomes ?? none, containerd: sides.containerd?.outcomes ?? none },
    };
  } finally {
    await site.close();
  }
}

/** Every spec that the suite means, also those that are left out. Throws when the list of these names one that is not there. */
async function chosenSpecs(site: Site, { suite, focus, results }: SuiteOptions): Promise<string[]> {
  const program = await findProgram(site.environment, suite.program);
  const all = await listSpecs({ program, choice: { labels: suite.labels }, directory: join(site.directory, 'list') });
  const meant = all.filter((name) => suite.specs === undefined || suite.specs.some((part) => name.includes(part)));
  for (const part of [...partsLeftOut(suite.name).map((each) => each.part), ...(suite.specs ?? [])]) {
    if (!all.some((name) => name.includes(part))) throw new Error(`named in left-out.ts, but ${suite.program} has no such spec: ${part}`);
  }
  await mkdir(results, { recursive: true });
  await writeFile(join(results, 'specs.txt'), `${meant.join('\n')}\n`);
  const pattern = focus === undefined ? undefined : new RegExp(focus);
  return meant.filter((name) => pattern === undefined || pattern.test(name));
}

async function versions(site: Site, engine: Engine): Promise<{ containerd: string; kubernetes: string; criquet: string }> {
  const { environment } = site;
  const containerd = await run(join(environment.containerd[engine] ?? '', 'containerd'), ['--version']);
  const kubelet = await run(await findProgram(environment, 'kubelet'), ['--version']);
  const commit = await run('git', ['-C', environment.checkout, 'rev-parse', '--short', 'HEAD']).catch(() => 'unknown');
  return {
    containerd: /\bv?(\d+\.\d+\.\d+)/.exec(containerd)?.[1] ?? engine,
    kubernetes: /v\d+\.\d+\.\d+/.exec(kubelet)?.[0] ?? 'unknown',
    criquet: commit.trim(),
  };
}

async function describeNode(): Promise<string> {
  const cgroup = (await run('stat', ['-fc', '%T', '/sys/fs/cgroup'])).trim() === 'cgroup2fs' ? 'v2' : 'v1';
  return `Linux ${release()}, cgroup ${cgroup}`;
}
