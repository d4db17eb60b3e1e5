import { parseArgs } from 'node:util';
import { countOf, oneOf } from '../harness/command-line.js';
import type { Engine } from '../harness/environment.js';
import type { Figure } from './figure.js';
import { chooseFigures, FIGURES } from './figures/index.js';
import { Scale } from './scale.js';

/** What `scripts/bench` was asked for. */
export interface Call {
  readonly engine: Engine;
  readonly figures: readonly Figure[];
  readonly scale: Scale;
  /** Where what is measured goes; absolute. */
  readonly out: string;
  readonly updateDocs: boolean;
  readonly render: boolean;
  readonly profile?: 'cpu' | 'heap';
}

/** @param resolve where `--out` leads. @throws saying which option is wrong */
export function readCall(resolve: (path: string) => string): Call {
  const { values } = parseArgs({
    options: {
      engine: { type: 'string', default: '2.4' },
      figures: { type: 'string' },
      rounds: { type: 'string' },
      out: { type: 'string', default: 'results/bench' },
      profile: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      'update-docs': { type: 'boolean', default: false },
      render: { type: 'boolean', default: false },
    },
  });
  const rounds = values.rounds === undefined ? undefined : countOf('--rounds', values.rounds);
  const profile = values.profile === undefined ? undefined : oneOf('--profile', values.profile, ['cpu', 'heap']);
  if (profile !== undefined && values['update-docs']) throw new Error('--update-docs: a profile is no measurement');
  if (values.smoke && values['update-docs']) throw new Error('--update-docs: a smoke run measures nothing');
  if (values['update-docs'] && values.figures !== undefined && chooseFigures(values.figures).length < FIGURES.length) {
    throw new Error('--update-docs: the record is that of all figures');
  }
  // What a profile shows by default is the daemon with all it does.
  const list = values.figures ?? (profile === undefined ? undefined : 'pod-churn');
  const figures = chooseFigures(list);
  if (profile !== undefined && figures.length > 1) throw new Error('--profile: one figure');
  if (profile !== undefined && figures.some(({ restartsDaemon }) => restartsDaemon)) throw new Error('--profile: a figure that leaves the daemon running');
  return {
    engine: oneOf('--engine', values.engine, ['2.1', '2.4']),
    figures,
    scale: Scale.of({ smoke: values.smoke, ...(rounds === undefined ? {} : { rounds }) }),
    out: resolve(values.out),
    updateDocs: values['update-docs'],
    render: values.render,
    ...(profile === undefined ? {} : { profile }),
  };
}
