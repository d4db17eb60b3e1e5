import { count, differences } from './difference.js';
import { OUTCOMES, type Outcomes } from './outcome.js';
import type { Record } from './record.js';

/** The totals of both runtimes side by side, then each spec that has not passed on both, with what was said about it. */
export function formatTable(record: Record, sides: { readonly criquet: Outcomes; readonly containerd: Outcomes }): string {
  const rows = OUTCOMES.map((outcome) => [outcome, count(record, 'criquet', outcome), count(record, 'containerd', outcome)] as const);
  const line = (name: string, ours: string | number, theirs: string | number) => `${name.padEnd(14)} ${String(ours).padStart(8)} ${String(theirs).padStart(11)}`;
  const listed = differences(record).map(({ name, criquet, containerd, favour }) =>
    [`${name}`, `    criquet ${criquet}, containerd ${containerd}: ${favour === 'nobody' ? 'passed by neither' : `in favour of ${favour}`}`]
      .concat(...(['criquet', 'containerd'] as const).map((side) => quoted(side, sides[side].get(name)?.message ?? '')))
      .join('\n'),
  );
  return [
    line('', 'criquet', 'containerd'),
    ...rows.map(([name, ours, theirs]) => line(name, ours, theirs)),
    line('seconds', record.seconds.criquet, record.seconds.containerd),
    '',
    listed.length === 0 ? 'No spec differs, and every one passed on both.' : `${listed.length} specs have not passed on both:`,
    ...listed,
  ].join('\n');
}

function quoted(side: string, message: string): string[] {
  const lines = message.trim().split('\n').slice(0, 6).map((line) => line.slice(0, 240));
  return message === '' ? [] : [`    ${side}: ${lines.join('\n      ')}`];
}
