import { count, differences } from './difference.js';
import { hasPassed, OUTCOMES, type Outcomes } from './outcome.js';
import type { Runtime } from '../harness/node.js';
import type { Record } from './record.js';

/**
 * The totals of the runtimes side by side, then with what was said about it each spec that has not passed on both, or on the one
 * that was asked.
 */
export function formatTable(record: Record, sides: { readonly [side in Runtime]: Outcomes }, runtimes: readonly Runtime[]): string {
  const line = (name: string, cell: (runtime: Runtime) => string | number) => [name.padEnd(14), ...runtimes.map((runtime) => String(cell(runtime)).padStart(11))].join(' ');
  const listed = differences(record).filter((spec) => runtimes.some((runtime) => !hasPassed(spec[runtime])));
  return [
    line('', (runtime) => runtime),
    ...OUTCOMES.map((outcome) => line(outcome, (runtime) => count(record, runtime, outcome))),
    line('seconds', (runtime) => record.seconds[runtime]),
    '',
    listed.length === 0 ? 'Every spec passed.' : `${listed.length} specs did not pass:`,
    ...listed.flatMap((spec) => [
      spec.name,
      ...(runtimes.length === 2 ? [`    ${spec.favour === 'nobody' ? 'passed by neither' : `in favour of ${spec.favour}`}`] : []),
      ...runtimes.flatMap((runtime) => [`    ${runtime} ${spec[runtime]}`, ...quoted(sides[runtime].get(spec.name)?.message ?? '')]),
    ]),
  ].join('\n');
}

/** The beginning of what a spec said. */
function quoted(message: string): string[] {
  return message
    .trim()
    .split('\n')
    .slice(0, 6)
    .filter((line) => line !== '')
    .map((line) => `        ${line.slice(0, 240)}`);
}
