import type { Runtime } from '../harness/node.js';
import { SCENES, type Figure, type Sampler, type Stage } from './figure.js';
import type { Scale } from './scale.js';
import type { Side } from './side.js';

/** By measure and side, in the order of the rounds. */
export type Samples = Record<string, Partial<Record<Runtime, number[]>>>;

/** A stage, and the figure that it is of. */
export interface Planned {
  readonly figure: Figure;
  readonly stage: Stage;
}

/** Who looks on while the counted rounds of a stage are measured. */
export interface Watch {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** The stages of some figures in the order in which they are measured: scene by scene, so that what stands is made once. */
export function planStages(figures: readonly Figure[]): Planned[] {
  const all = figures.flatMap((figure) => figure.stages.map((stage) => ({ figure, stage })));
  return SCENES.flatMap((scene) => all.filter(({ stage }) => stage.scene === scene));
}

export interface FigureRun {
  readonly figures: readonly Figure[];
  readonly sides: readonly Side[];
  readonly scale: Scale;
  /** Gets a line for each scene and stage. */
  readonly say: (line: string) => void;
  readonly watch?: Watch;
  /** Called after each stage with all samples so far, so that a run which is cut off leaves what it had. */
  readonly keep?: (samples: Samples) => Promise<void>;
}

/** Measures figures on all sides, round by round, the sides taking turns at being first. */
export async function runFigures({ figures, sides, scale, say, watch, keep }: FigureRun): Promise<Samples> {
  const samples: Samples = {};
  let standing: Stage['scene'] = 0;
  for (const { figure, stage } of planStages(figures)) {
    if (stage.scene !== standing) await setScene(stage.scene, sides, scale, say);
    standing = stage.scene;
    const began = performance.now();
    await runStage(stage, sides, scale, samples, watch);
    await keep?.(samples);
    say(`  ${figure.name}, ${sceneName(stage.scene, scale)}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
  return samples;
}

/** One side after the other, so that none is in the way of the other. */
async function setScene(scene: Stage['scene'], sides: readonly Side[], scale: Scale, say: (line: string) => void): Promise<void> {
  say(`  ${sceneName(scene, scale)} ...`);
  for (const side of sides) {
    await side.stand(scale.standing(scene));
    if (scene === 'emptied') await side.restart();
  }
}

function sceneName(scene: Stage['scene'], scale: Scale): string {
  return scene === 'emptied' ? 'daemons started again' : `${scale.standing(scene)} standing pods`;
}

async function runStage(stage: Stage, sides: readonly Side[], scale: Scale, samples: Samples, watch?: Watch): Promise<void> {
  const taking = sides.filter(({ runtime }) => stage.runtimes === undefined || stage.runtimes.includes(runtime));
  const samplers = new Map<Side, Sampler>();
  try {
    for (const side of taking) samplers.set(side, await stage.begin(side, scale));
    for (let round = -scale.warmUps(stage); round < scale.counted(stage); round++) {
      if (round === 0) await watch?.begin();
      for (const [side, sampler] of round % 2 === 0 ? samplers : [...samplers].reverse()) {
        const sampled = await sampler.sample();
        if (round >= 0) for (const [name, value] of Object.entries(sampled)) add(samples, name, side.runtime, value);
      }
    }
    await watch?.end();
  } finally {
    for (const sampler of samplers.values()) await sampler.end?.();
  }
}

function add(samples: Samples, name: string, runtime: Runtime, value: number): void {
  if (!Number.isFinite(value)) throw new Error(`${name} on ${runtime}: ${value}`);
  const sides = (samples[name] ??= {});
  (sides[runtime] ??= []).push(value);
}
