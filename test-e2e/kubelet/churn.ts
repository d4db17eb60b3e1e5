import { Random } from '../faults/random.js';
import { pod, shell, STAY } from './manifest.js';
import { containerOf } from './pod-status.js';
import type { Side } from './side.js';

export interface ChurnResult {
  /** Pods that came up and went away again. */
  lasting: number;
  /** Pods that ended by themselves, with the exit code that they had to have. */
  ended: number;
  /** What was not as it had to be, in words. */
  readonly wrong: string[];
}

/** Static pods that come and go under a kubelet, whatever happens to its runtime meanwhile. */
export class Churn {
  readonly result: ChurnResult = { lasting: 0, ended: 0, wrong: [] };
  private over = false;

  constructor(
    private readonly side: Side,
    private readonly seed: number,
  ) {}

  /** Runs until {@link end}; then each pod that was begun is brought to its end. */
  async run(workers: number): Promise<void> {
    await Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        const random = new Random(this.seed + worker);
        for (let turn = 0; !this.over; turn++) await (random.happens(0.5) ? this.lasting(`lasting-${worker}-${turn}`) : this.ending(`ending-${worker}-${turn}`, random.between(0, 99)));
      }),
    );
  }

  end(): void {
    this.over = true;
  }

  /** Comes up, and is taken away. */
  private async lasting(name: string): Promise<void> {
    const { side } = this;
    await side.apply(pod(name, { initContainers: [shell('init', 'exit 0')], containers: [shell('main', STAY)] }));
    const { restartCount } = containerOf(await side.ready(name), 'main');
    if (restartCount !== 0) this.result.wrong.push(`${name} was started ${restartCount + 1} times`);
    await side.remove(name);
    this.result.lasting += 1;
  }

  /** Ends by itself. */
  private async ending(name: string, code: number): Promise<void> {
    const { side, result } = this;
    await side.apply(pod(name, { restartPolicy: 'Never', containers: [shell('main', `sleep 0.5; exit ${code}`)] }));
    const { restartCount, state } = containerOf(await side.ended(name), 'main');
    if (state.terminated?.exitCode === code && restartCount === 0) result.ended += 1;
    else result.wrong.push(`${name}: exit code ${state.terminated?.exitCode} (${state.terminated?.reason}) and ${restartCount} restarts, not ${code} and none`);
    await side.remove(name);
  }
}
