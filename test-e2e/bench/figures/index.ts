import type { Figure, Measure } from '../figure.js';
import { eventLoopDelay } from './event-loop-delay.js';
import { execSync } from './exec-sync.js';
import { growth } from './growth.js';
import { idleCpu } from './idle-cpu.js';
import { listContainers } from './list-containers.js';
import { logPump } from './log-pump.js';
import { memory } from './memory.js';
import { podChurn } from './pod-churn.js';
import { podLife } from './pod-life.js';
import { pullImage } from './pull-image.js';
import { smallCalls } from './small-calls.js';
import { startToServing } from './start-to-serving.js';
import { stats } from './stats.js';

/** In the order of the table, and within a scene of the run: memory before the daemons are restarted for another figure, and after the pods that churn. */
export const FIGURES: readonly Figure[] = [
  podLife,
  podChurn,
  execSync,
  listContainers,
  stats,
  logPump,
  smallCalls,
  pullImage,
  memory,
  idleCpu,
  startToServing,
  growth,
  eventLoopDelay,
];

export const MEASURES: readonly Measure[] = FIGURES.flatMap(({ measures }) => measures);

/** The figures of a list as `--figures` has it, in their own order. @throws naming one that there is not */
export function chooseFigures(list: string | undefined): readonly Figure[] {
  if (list === undefined) return FIGURES;
  const names = list.split(',');
  for (const name of names) {
    if (!FIGURES.some((figure) => figure.name === name)) {
      throw new Error(`--figures: ${FIGURES.map((figure) => figure.name).join(', ')}, not ${JSON.stringify(name)}`);
    }
  }
  return FIGURES.filter(({ name }) => names.includes(name));
}
