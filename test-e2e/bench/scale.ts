import type { Scene } from './figure.js';

/** How much is measured: all, or the least that shows that every figure can be. */
export class Scale {
  private constructor(
    readonly smoke: boolean,
    /** What `--rounds` says. */
    readonly rounds: number | undefined,
  ) {}

  static of({ smoke, rounds }: { smoke: boolean; rounds?: number }): Scale {
    return new Scale(smoke, rounds);
  }

  /** A number of things, or a time. */
  pick(whole: number, smoke: number): number {
    return this.smoke ? smoke : whole;
  }

  /** Pods that stand in a scene. */
  standing(scene: Scene): number {
    if (scene === 'emptied') return 0;
    return this.smoke ? Math.min(scene, 2) : scene;
  }

  counted(stage: { rounds: number; fixedRounds?: true }): number {
    if (this.smoke) return 1;
    return stage.fixedRounds === true ? stage.rounds : (this.rounds ?? stage.rounds);
  }

  warmUps(stage: { warmUps: number }): number {
    return this.smoke ? 0 : stage.warmUps;
  }
}
