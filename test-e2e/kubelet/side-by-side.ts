import { join } from 'node:path';
import t, { type Test } from 'tap';
import { enginesUnderTest, patience, readEnvironment, type Engine } from '../harness/environment.js';
import { KubernetesNode, type KubernetesNodeOptions } from '../harness/kubernetes/kubernetes-node.js';
import { Site } from '../harness/kubernetes/site.js';
import type { Runtime } from '../harness/node.js';
import { AccountBook } from './account-book.js';
import type { KnownDifference } from './account-book.js';
import { tellFooting } from './footing.js';
import { Side } from './side.js';

/** For a whole suite, its topics included; tap's own limit is meant for smaller ones. */
const LIMIT_MS = 480_000;

/** Topics that go on at once on one side: more pods would only wait for one another. */
const TOPICS_AT_ONCE = 4;

/** One subject of a suite: its pods, and what must become of them on this side. All topics of a suite go on at once. */
export type Topic = (t: Test, side: Side) => Promise<void>;

export interface SideBySideOptions extends Pick<KubernetesNodeOptions, 'fields' | 'flags' | 'extraConfig'> {
  /** Where the accounts of criquet may differ from that of containerd's plugin. */
  readonly known?: readonly KnownDifference[];
  /** Whether containerd's own plugin may leave something of its pods, where that is its fault and not the suite's. Default: no. */
  readonly yardstickLeaves?: boolean;
  /** The containerds under criquet. Default: all under test. */
  readonly engines?: 'all' | 'newest';
}

/**
 * Runs topics on a kubelet on criquet, with each containerd under test, and on one on containerd's own plugin, the newest, at the same
 * time; then compares what each side told, and what each has left on its machine: nothing. Names of topics on the command line choose
 * among them; `CRIQUET_E2E_LOGS` names a directory for the daemons' logs.
 */
export async function sideBySide(all: Readonly<Record<string, Topic>>, options: SideBySideOptions = {}): Promise<void> {
  const chosen = process.argv.slice(2).filter((name) => name in all);
  const topics = Object.entries(all).filter(([name]) => chosen.length === 0 || chosen.includes(name));
  const engines = chooseEngines(options);
  const newest = engines.at(-1);
  if (newest === undefined) throw new Error('no containerd to test on');
  const sides = await startSides([['containerd', newest], ...engines.map((engine) => ['criquet', engine] as const)], options);
  t.jobs = sides.length * TOPICS_AT_ONCE;
  await Promise.all(
    topics.flatMap(([name, topic]) =>
      sides.map((side) => t.test(`${name}: ${side.label}`, { buffered: true, timeout: patience(LIMIT_MS) }, (t) => topic(t, side))),
    ),
  );
  await t.test('how long things took, and how large the daemons are', (t) => tellFooting(t, sides));
  const [yardstick, ...others] = sides;
  if (yardstick === undefined) return;
  for (const side of others) {
    await t.test(`${side.label} answers as containerd's plugin does`, (t) => {
      const book = new AccountBook(side, yardstick, options.known ?? []);
      book.compare();
      t.strictSame(book.differences, [], 'no difference that is not known');
      if (chosen.length === 0) t.strictSame(book.unused(), [], 'every known difference is one');
      t.end();
    });
  }
  await Promise.all(
    sides.map((side) =>
      t.test(`nothing is left of the pods: ${side.label}`, { buffered: true, timeout: patience(LIMIT_MS) }, async (t) => {
        const left = await side.leftovers();
        if (side === yardstick && options.yardstickLeaves === true) t.comment(`left by ${side.label}: ${left.join(', ') || 'nothing'}`);
        else t.strictSame(left, []);
      }),
    ),
  );
}

/**
 * Runs a suite about criquet itself, under a kubelet, with each containerd under test at the same time, and asserts that it leaves nothing.
 */
export async function onCriquet(suite: Topic, options: SideBySideOptions = {}): Promise<void> {
  const sides = await startSides(chooseEngines(options).map((engine) => ['criquet', engine]), options);
  t.jobs = sides.length;
  await Promise.all(
    sides.map((side) =>
      t.test(side.label, { buffered: true, timeout: patience(LIMIT_MS) }, async (t) => {
        await suite(t, side);
        t.strictSame(await side.leftovers(), [], 'nothing is left of the pods');
      }),
    ),
  );
}

function chooseEngines({ engines }: SideBySideOptions): Engine[] {
  const all = enginesUnderTest(readEnvironment());
  return engines === 'newest' ? all.slice(-1) : all;
}

/** A site with a node a side, which go away with the test. */
async function startSides(runtimes: readonly (readonly [Runtime, Engine])[], options: SideBySideOptions): Promise<Side[]> {
  t.setTimeout(patience(LIMIT_MS));
  const site = await Site.open();
  t.teardown(() => site.close());
  return Promise.all(
    runtimes.map(async ([runtime, engine], index) => {
      // The same name for all, so that the names of their pods are the same.
      const machine = await KubernetesNode.start({ site, engine, runtime, index, name: 'node', ...options });
      t.teardown(async () => {
        const logs = process.env.CRIQUET_E2E_LOGS;
        if (logs !== undefined) await machine.node.keepLogs(join(logs, `${runtime}-${engine}`));
        await machine.dispose();
      });
      return Side.of(machine, runtime, engine);
    }),
  );
}

export type { Test };
