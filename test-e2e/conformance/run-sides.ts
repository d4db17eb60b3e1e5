import { mkdir, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../harness/environment.js';
import { findProgram } from '../harness/kubernetes/find-program.js';
import { Site } from '../harness/kubernetes/site.js';
import { run } from '../harness/run.js';
import type { Call } from './call.js';
import { literal, listSpecs, type Choice } from './ginkgo.js';
import { partsLeftOut, reasonToLeaveOut } from './left-out.js';
import { runSide } from './run-side.js';
import { formatSide, writeSide } from './side.js';

/** Runs a suite on each runtime in turn, and keeps and prints how it went. Must be called in a network namespace of its own. */
export async function runSides(call: Call): Promise<void> {
  const { suite, engine, results, runtimes, procs, minutes } = call;
  const site = await Site.open();
  try {
    const chosen = await chosenSpecs(site, call);
    const specs = chosen.filter((name) => reasonToLeaveOut(suite.name, name) === undefined);
    if (specs.length === 0) throw new Error('no spec of that suite has such a name, or all of them are left out');
    const focus = call.focus !== undefined ? [call.focus] : suite.specs?.map(literal);
    for (const runtime of runtimes) {
      process.stdout.write(`${specs.length} specs of ${suite.name} on ${runtime}, containerd ${engine}\n`);
      const directory = join(results, runtime);
      await mkdir(directory, { recursive: true });
      const options = { site, suite, engine, runtime, specs, procs, minutes, again: true, results: directory };
      const { outcomes, seconds } = await runSide(focus === undefined ? options : { ...options, focus });
      const side = {
        runtime,
        seconds,
        ...(await versions(site, engine)),
        date: new Date().toISOString().slice(0, 10),
        node: await describeNode(),
        specs: chosen.map((name) => ({ name, ...(outcomes.get(name) ?? { outcome: 'left out' as const, message: '' }) })),
      };
      await writeSide(results, side);
      process.stdout.write(`${formatSide(side)}\nreports and logs: ${directory}\n`);
    }
  } finally {
    await site.close();
  }
}

/** Every spec that the suite means, also those that are left out. Throws when the list of these names one that is not there. */
async function chosenSpecs(site: Site, { suite, focus, results }: Call): Promise<string[]> {
  const program = await findProgram(site.environment, suite.program);
  const list = (choice: Choice) => listSpecs({ program, choice, directory: join(site.directory, 'list') });
  const all = await list({ labels: suite.labels });
  const meant = all.filter((name) => suite.specs === undefined || suite.specs.some((part) => name.includes(part)));
  for (const part of [...partsLeftOut(suite.name).map((each) => each.part), ...(suite.specs ?? [])]) {
    if (!all.some((name) => name.includes(part))) throw new Error(`named in left-out.ts, but ${suite.program} has no such spec: ${part}`);
  }
  await mkdir(results, { recursive: true });
  await writeFile(join(results, 'specs.txt'), `${meant.join('\n')}\n`);
  if (meant.length !== suite.count) throw new Error(`${suite.program} has ${meant.length} specs of ${suite.name}; suite.ts says ${suite.count}`);
  if (focus === undefined) return meant;
  const focused = new Set(await list({ labels: suite.labels, focus: [focus] }));
  return meant.filter((name) => focused.has(name));
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
