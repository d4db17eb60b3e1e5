import type { Target, Unit } from './figure.js';
import type { BenchRun } from './samples.js';
import type { Row, Spread } from './summary.js';

/** Three digits, and no more behind the point than say something. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return value.toFixed(0);
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function spreadInWords(spread: Spread | undefined): string {
  if (spread === undefined) return '–';
  return spread.p95 === undefined ? shortNumber(spread.median) : `${shortNumber(spread.median)} (${shortNumber(spread.p95)})`;
}

/** What a target asks for: of a ratio `at most 0.70`, of a value with its unit. */
export function targetInWords(target: Target | undefined, unit: Unit): string {
  if (target === undefined) return '';
  const { bound, limit, of } = target;
  return of === 'ratio' ? `${bound} ${limit.toFixed(2)}` : `${bound} ${limit} ${unit}`;
}

export function ratioInWords({ ratio }: Row): string {
  return ratio === undefined ? '' : ratio.toFixed(2);
}

export function verdictInWords({ met }: Row): string {
  if (met === undefined) return '';
  return met ? 'met' : 'missed';
}

/** What the client itself could have made, in one sentence; none where no rates were measured. */
export function ceilingInWords({ clientCallsPerSecond }: Pick<BenchRun, 'clientCallsPerSecond'>): string[] {
  const calls = Object.entries(clientCallsPerSecond).map(([call, rate]) => `${rate} ${call}`);
  return calls.length === 0 ? [] : [`Calls that the client of the rates could have made in a second of CPU: ${calls.join(', ')}.`];
}
