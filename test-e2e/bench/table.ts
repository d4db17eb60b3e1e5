import type { Row } from './summary.js';
import { ratioInWords, spreadInWords, targetInWords, verdictInWords } from './words.js';

const HEADS = ['', 'unit', 'criquet', "containerd's plugin", 'ratio', 'target', ''];

/** The rows as a terminal shows them. @param withVerdicts whether targets are compared: those of a smoke run say nothing */
export function formatTable(rows: readonly Row[], withVerdicts: boolean): string {
  const cells = rows.map((row) => {
    const { measure, sides } = row;
    const verdict = withVerdicts ? [targetInWords(measure.target, measure.unit), verdictInWords(row)] : ['', ''];
    return [measure.title, measure.unit, spreadInWords(sides.criquet), spreadInWords(sides.containerd), ratioInWords(row), ...verdict];
  });
  const widths = HEADS.map((head, column) => Math.max(head.length, ...cells.map((row) => row[column]?.length ?? 0)));
  // Words to the left, numbers to the right.
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column < 2 || column > 4 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ').trimEnd();
  return [line(HEADS), ...cells.map(line)].join('\n');
}
