import type { Runtime } from '../harness/node.js';
import { count, differences, type Favour } from './difference.js';
import { OUTCOMES } from './outcome.js';
import type { Record } from './record.js';

const SIDES: readonly Runtime[] = ['criquet', 'containerd'];

const FAVOURS: { readonly [favour in Favour]: string } = {
  criquet: 'in favour of criquet',
  containerd: "in favour of containerd's plugin",
  nobody: 'passed by neither',
  open: 'not run on both',
};

/** The totals of both runtimes side by side, then each spec that has not passed on both. */
export function formatTable(record: Record): string {
  const line = (name: string, cell: (runtime: Runtime) => string | number) => [name.padEnd(14), ...SIDES.map((side) => String(cell(side)).padStart(11))].join(' ');
  const listed = differences(record);
  return [
    line('', (runtime) => runtime),
    ...OUTCOMES.map((outcome) => line(outcome, (runtime) => count(record, runtime, outcome))),
    line('seconds', (runtime) => record.seconds[runtime]),
    '',
    listed.length === 0 ? 'Every spec that ran has passed on both.' : `${listed.length} specs have not passed on both:`,
    ...listed.flatMap(({ name, criquet, containerd, favour }) => [
      name,
      `    criquet ${criquet}, containerd ${containerd}: ${FAVOURS[favour]}`,
    ]),
  ].join('\n');
}
