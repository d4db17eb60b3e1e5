import { join } from 'node:path';
import { CHECKOUT } from '../cri-support/checkout.js';
import type { Engine } from '../harness/environment.js';
import type { Runtime } from '../harness/node.js';
import { suiteOf, type Suite } from './suite.js';

/** What a call of scripts/conformance asks for. */
export interface Call {
  readonly suite: Suite;
  readonly engine: Engine;
  readonly runtimes: readonly Runtime[];
  /** A regular expression as Go reads them: only specs whose names match. */
  readonly focus?: string;
  readonly procs: number;
  /** For all specs on one runtime. */
  readonly minutes: number;
  /** Below which reports, logs and the records of each runtime are kept. */
  readonly results: string;
}

/** Options as they were given. */
export interface CallOptions {
  readonly suite: string;
  readonly engine: string;
  readonly runtime: string;
  readonly focus?: string | undefined;
  readonly procs: string;
  readonly minutes: string;
  readonly 'at-once': boolean;
  readonly 'update-docs': boolean;
}

/** Throws on options that do not go together or are none. */
export function readCall(options: CallOptions): Call {
  const { engine, focus } = options;
  if (engine !== '2.1' && engine !== '2.4') throw new Error('--engine: 2.1 or 2.4');
  const runtimes = runtimesOf(options.runtime);
  if (focus === '') throw new Error('--focus: is empty; without it every spec is run');
  const whole = focus === undefined && runtimes.length === 2;
  if (options['update-docs'] && !whole) throw new Error('--update-docs: the whole suite on both runtimes');
  if (options['at-once'] && runtimes.length < 2) throw new Error('--at-once: both runtimes');
  const suite = suiteOf(options.suite);
  return {
    suite,
    engine,
    runtimes,
    procs: positive('--procs', options.procs),
    minutes: positive('--minutes', options.minutes),
    results: join(CHECKOUT, 'results/conformance', `${suite.name}-containerd-${engine}`),
    ...(focus === undefined ? {} : { focus }),
  };
}

function runtimesOf(name: string): Runtime[] {
  if (name === 'both') return ['criquet', 'containerd'];
  if (name === 'criquet' || name === 'containerd') return [name];
  throw new Error('--runtime: both, criquet or containerd');
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${option}: a number from 1 on`);
  return value;
}
