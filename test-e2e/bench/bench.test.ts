import t from 'tap';
import { FIGURES, MEASURES } from './figures/index.js';
import { atLeast, atMost, SCENES, type Measure } from './figure.js';
import { renderFiles, staleFiles } from './document.js';
import { planStages } from './run-figures.js';
import { formatRun, parseRun, type BenchRun } from './samples.js';
import { Scale } from './scale.js';
import { median, quantile } from './statistics.js';
import { summarise } from './summary.js';
import { formatTable } from './table.js';

const RUN: BenchRun = {
  version: 1,
  date: '2026-11-30',
  engine: '2.4',
  versions: { criquet: 'abc', containerd: '2.4.2', runc: '1.5.3', cni: '1.10.0', node: 'v20.0.0' },
  machine: { processor: 'A processor', cores: 2, architecture: 'x64', memory: 8, kernel: '6.18', system: 'Debian', cgroups: 'v2' },
  loadBefore: 0.1,
  minutes: 20,
  clientCallsPerSecond: { Version: 30_000 },
  samples: { 'pod-start': { criquet: [60, 70, 80], containerd: [90, 100, 110] }, 'version-1': { criquet: [700, 800], containerd: [1000, 1000] } },
};

await t.test('median and quantile', async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 3, 2]), 2.5);
  t.ok(Number.isNaN(median([])));
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  t.equal(quantile(hundred, 0.95), 95, 'the nearest rank');
  t.equal(quantile([1, 2], 0.95), 2);
});

await t.test('a row: medians, the worse end, ratio and verdict', async (t) => {
  const measure = (name: string, better: 'less' | 'more', rest: Partial<Measure> = {}): Measure => ({ name, title: name, unit: 'ms', better, ...rest });
  const times = Array.from({ length: 20 }, (_, index) => index + 1);
  const samples = {
    time: { criquet: times, containerd: times.map((time) => time * 2) },
    rate: { criquet: times, containerd: times },
    alone: { criquet: [5] },
    little: { criquet: [0], containerd: [0] },
  };
  const rows = summarise(
    [
      measure('time', 'less', { target: atMost(0.5) }),
      measure('rate', 'more', { target: atLeast(1.1) }),
      measure('alone', 'less', { target: atMost(5, 'value') }),
      measure('little', 'less', { target: atMost(1, 'value') }),
      measure('not measured', 'less', { target: atMost(1) }),
      measure('growth', 'less', { target: atMost(1.15, 'value'), quotient: ['time', 'alone'] }),
    ],
    samples,
  );
  t.strictSame(
    rows.map(({ measure: { name }, sides, ratio, met }) => [name, sides.criquet, sides.containerd, ratio, met]),
    [
      ['time', { median: 10.5, p95: 19 }, { median: 21, p95: 38 }, 0.5, true],
      ['rate', { median: 10.5, p95: 2 }, { median: 10.5, p95: 2 }, 1, false],
      ['alone', { median: 5, p95: 5 }, undefined, undefined, true],
      ['little', { median: 0, p95: 0 }, { median: 0, p95: 0 }, undefined, true],
      // 10.5 : 5; nothing of the plugin stands below the line.
      ['growth', { median: 2.1 }, undefined, undefined, false],
    ],
  );
});

await t.test('the table shows a verdict where there is one', async (t) => {
  const rows = summarise(MEASURES, RUN.samples);
  const table = formatTable(rows, true).split('\n');
  t.equal(table.length, 3);
  t.match(table[1], /^pod start +ms +70\.0 \(80\.0\) +100 \(110\) +0\.70 +at most 0\.70 +met$/);
  t.match(table[2], /750 \(700\) +1000 \(1000\) +0\.75 +at least 0\.80 +missed$/);
  t.notMatch(formatTable(rows, false), /met|missed|at most/, 'none of a smoke run');
});

await t.test('samples come back as they were written', async (t) => {
  t.strictSame(parseRun(formatRun(RUN)), RUN);
  t.throws(() => parseRun('{"version":2}'), /version 2/);
});

await t.test('the page and its plots', async (t) => {
  const files = renderFiles([RUN], '## What the numbers say\n\nNothing yet.');
  const page = files['docs/benchmarks.md'] ?? '';
  t.match(page, '| pod start | ms | 70.0 (80.0) | 100 (110) | 0.70 | at most 0.70 | met |');
  t.match(page, 'Nothing yet.');
  for (const [, path = ''] of page.matchAll(/\]\((benchmarks\/plots[^)]*)\)/g)) t.ok(`docs/${path}` in files, path);
  t.strictSame(Object.keys(files).sort(), ['docs/benchmarks.md', ...['overview', 'pod-life', 'small-calls'].map((name) => `docs/benchmarks/plots-2.4/${name}.svg`)]);
  t.notMatch(page, /was busy|short run/);
  t.match(renderFiles([{ ...RUN, loadBefore: 3, rounds: 2 }], '')['docs/benchmarks.md'], /A short run:[^]*The machine was busy:/);
  const plot = files['docs/benchmarks/plots-2.4/pod-life.svg'] ?? '';
  t.equal(plot.match(/<circle/g)?.length, 6, 'a dot for each sample');
  t.match(plot, 'prefers-color-scheme:dark');
  const [ours, theirs] = [...plot.matchAll(/<line x1="([\d.]+)"[^>]*class="median/g)].map(([, x]) => Number(x));
  // From 0 at 80 to 150, the mark above the largest, at 670.
  t.strictSame([ours, theirs], [80 + (70 / 150) * 590, 80 + (100 / 150) * 590].map((x) => Math.round(x * 10) / 10));
  const overview = files['docs/benchmarks/plots-2.4/overview.svg'] ?? '';
  t.strictSame([...overview.matchAll(/<rect[^>]*class="(\w+)"/g)].map(([, kind]) => kind), ['met', 'missed']);
});

await t.test('every measure has a name of its own, and every figure a scene', async (t) => {
  const names = MEASURES.map(({ name }) => name);
  t.equal(new Set(names).size, names.length);
  t.strictSame(MEASURES.flatMap(({ quotient }) => quotient ?? []).filter((name) => !names.includes(name)), []);
  const planned = planStages(FIGURES);
  t.equal(planned.length, FIGURES.flatMap(({ stages }) => stages).length);
  const scenes = planned.map(({ stage }) => SCENES.indexOf(stage.scene));
  t.strictSame(scenes, [...scenes].sort((a, b) => a - b), 'what stands only grows, until all of it goes');
});

await t.test('a smoke run does everything once, --rounds what is not fixed', async (t) => {
  const stages = FIGURES.flatMap((figure) => figure.stages);
  const smoke = Scale.of({ smoke: true, rounds: 7 });
  t.ok(stages.every((stage) => smoke.counted(stage) === 1 && smoke.warmUps(stage) === 0 && smoke.standing(stage.scene) <= 2));
  const seven = Scale.of({ smoke: false, rounds: 7 });
  t.ok(stages.every((stage) => seven.counted(stage) === (stage.fixedRounds === true ? stage.rounds : 7)));
});

await t.test('docs/benchmarks.md and its plots are those of the recorded samples: otherwise run scripts/bench --render', async (t) => {
  t.strictSame(await staleFiles(), []);
});
