import type { Figure, Measure } from '../figure.js';
import type { BenchRun } from '../samples.js';
import { median } from '../statistics.js';
import { shortNumber } from '../words.js';
import { dot, line, picture, text } from './svg.js';
import { ticks } from './ticks.js';

const WIDTH = 760;
const LEFT = 80;
const RIGHT = 90;
const PANEL = 112;
const STRIP = 30;
const SIDES = [
  ['criquet', 'criquet'],
  ['containerd', 'plugin'],
] as const;

/** Every sample of a figure as a dot, a strip for each side, with the median; a panel for each measure. Undefined where nothing was sampled. */
export function stripPlot(figure: Figure, samples: BenchRun['samples']): string | undefined {
  const sampled = figure.measures.filter(({ name }) => samples[name] !== undefined);
  if (sampled.length === 0) return undefined;
  const panels = sampled.flatMap((measure, index) => panel(measure, samples[measure.name] ?? {}, index * PANEL));
  return picture(WIDTH, sampled.length * PANEL + 8, `${figure.title}: every sample of criquet and of containerd's plugin`, panels);
}

function panel(measure: Measure, sides: BenchRun['samples'][string], top: number): string[] {
  const largest = Math.max(...Object.values(sides).flat());
  const marks = ticks(largest);
  const scale = (WIDTH - LEFT - RIGHT) / (marks.at(-1) ?? 1);
  const x = (value: number) => LEFT + value * scale;
  const axis = top + 26 + SIDES.length * STRIP;
  const parts = [
    text(0, top + 14, `${measure.title.replace(/^· /, '').replaceAll('`', '')} [${measure.unit}], ${measure.better} is better`, { class: 'title' }),
    line(LEFT, axis, WIDTH - RIGHT, axis, 'axis'),
    ...marks.flatMap((mark) => [line(x(mark), top + 22, x(mark), axis + 3, 'axis'), text(x(mark), axis + 16, String(mark), { anchor: 'middle' })]),
  ];
  for (const [index, [runtime, name]] of SIDES.entries()) {
    const values = sides[runtime];
    const middle = top + 26 + (index + 0.5) * STRIP;
    if (values === undefined || values.length === 0) continue;
    const half = median(values);
    parts.push(
      text(LEFT - 8, middle + 4, name, { anchor: 'end' }),
      ...values.map((value, sample) => dot(x(value), middle + spreadOut(sample), runtime)),
      line(x(half), middle - 11, x(half), middle + 11, `median ${runtime}`),
      text(WIDTH - RIGHT + 8, middle + 4, shortNumber(half)),
    );
  }
  return parts;
}

/** Dots of one value beside each other, the same way every time: by the golden ratio, whose multiples do not come back. */
function spreadOut(sample: number): number {
  return (((sample * 0.618034) % 1) - 0.5) * 16;
}
