import type { Row } from '../summary.js';
import { bar, line, picture, text } from './svg.js';

const WIDTH = 820;
const LEFT = 390;
const RIGHT = 60;
const ROW = 24;
const TOP = 40;

/** criquet's median divided by the plugin's for each row whose target is one, on a scale on which twice is as far from 1 as half; a mark at each target. */
export function ratioOverview(rows: readonly Row[]): string | undefined {
  const shown = rows.flatMap(({ measure, ratio, met }) => {
    const { target } = measure;
    return ratio === undefined || target?.of !== 'ratio' ? [] : [{ measure, ratio, limit: target.limit, met: met === true }];
  });
  if (shown.length === 0) return undefined;
  const steps = Math.max(1, Math.ceil(Math.max(...shown.flatMap(({ ratio, limit }) => [ratio, limit].map((value) => Math.abs(Math.log2(value)))))));
  const x = (ratio: number) => LEFT + ((Math.log2(ratio) + steps) / (2 * steps)) * (WIDTH - LEFT - RIGHT);
  const bottom = TOP + shown.length * ROW;
  const powers = Array.from({ length: 2 * steps + 1 }, (_, index) => 2 ** (index - steps));
  const marks = powers.filter((_, index) => steps <= 3 || (index - steps) % 2 === 0);
  return picture(WIDTH, bottom + 44, "Ratios of criquet to containerd's plugin, with targets", [
    text(0, 14, "criquet divided by containerd's plugin: medians", { class: 'title' }),
    text(WIDTH, 14, 'dashed: the target', { anchor: 'end' }),
    ...marks.flatMap((mark) => [line(x(mark), TOP - 8, x(mark), bottom, 'axis'), text(x(mark), bottom + 16, String(mark), { anchor: 'middle' })]),
    ...shown.flatMap(({ measure, ratio, limit, met }, index) => {
      const top = TOP + index * ROW;
      const [from, to] = [Math.min(x(1), x(ratio)), Math.max(x(1), x(ratio))];
      return [
        text(LEFT - 8, top + 12, `${measure.title.replaceAll('`', '')} (${measure.better})`, { anchor: 'end' }),
        bar(from, top + 1, to - from, ROW - 8, met ? 'met' : 'missed'),
        line(x(limit), top - 2, x(limit), top + ROW - 4, 'target'),
        text(WIDTH, top + 12, ratio.toFixed(2), { anchor: 'end' }),
      ];
    }),
    text(0, bottom + 38, '(less): a time, less is better. (more): a rate, more is better. Green: met.'),
  ]);
}
