import { setTimeout as pause } from 'node:timers/promises';
import { ContainerState, CriCallError } from '@criquet/cri-api';
import { status } from '@grpc/grpc-js';
import { patience } from '../harness/environment.js';
import type { TestNode } from '../harness/node.js';
import { CALL, TestPod, type TestContainer } from '../harness/pods.js';
import type { Random } from './random.js';
import { onNodeNetwork } from './scenarios/configs.js';

const AGAIN_MS = 100;
/** Longest time in which a repeated call must work once. */
const WORKS_MS = 120_000;
/** By its trap, by SIGKILL, and by SIGTERM before the shell has come to its trap. */
const ENDED_BY_STOP = [42, 137, 143];

/** What a call says whose daemon has died, or that stands in the way of what it had begun. */
const PASSING = new Set([status.UNAVAILABLE, status.CANCELLED, status.DEADLINE_EXCEEDED, status.INTERNAL, status.UNKNOWN, status.ALREADY_EXISTS, status.FAILED_PRECONDITION]);

export interface LoadResult {
  pods: number;
  calls: number;
  /** Calls that were carried out, of all. */
  done: number;
  /** Exit codes that were as they had to be. */
  trueExits: number;
  /** What was not as it had to be, in words. */
  readonly wrong: string[];
}

/**
 * Pods that come and go while a daemon below them is killed, hangs or is away: run, create, start, exec, stop, remove, each repeated as a kubelet
 * repeats it until it works.
 */
export class Load {
  readonly result: LoadResult = { pods: 0, calls: 0, done: 0, trueExits: 0, wrong: [] };
  private ended = false;

  constructor(
    private readonly node: TestNode,
    private readonly random: Random,
  ) {}

  /** Runs until {@link end}; then every pod that was begun is brought to its end. */
  async run(workers: number): Promise<void> {
    await Promise.all(
      Array.from({ length: workers }, async () => {
        while (!this.ended) await this.onePod();
      }),
    );
  }

  end(): void {
    this.ended = true;
  }

  private async onePod(): Promise<void> {
    const { random, node } = this;
    const config = TestPod.config(node, random.happens(0.5) ? onNodeNetwork(node) : {});
    const pod = await this.until(() => TestPod.run(node, config));
    this.result.pods += 1;
    const code = random.between(1, 99);
    const short = await this.container(pod, 'short', `sleep 0.${random.between(0, 9)}; exit ${code}`);
    const lasting = await this.container(pod, 'lasting', 'trap "exit 42" TERM; while :; do sleep 0.1; done');
    // A command whose daemon dies is not repeated: it may have run.
    if (random.happens(0.5)) await lasting.exec(['true']).catch(() => undefined);
    await this.expectExit(short, [code]);
    // A removal ends what was not stopped before.
    if (random.happens(0.7)) {
      await this.until(() => lasting.stop(BigInt(random.between(0, 1))));
      await this.expectExit(lasting, ENDED_BY_STOP);
    }
    if (random.happens(0.7)) await this.until(() => pod.stop());
    if (random.happens(0.5)) await this.until(() => short.remove());
    await this.until(() => node.cri.runtime.removePodSandbox({ podSandboxId: pod.id }, CALL));
  }

  private async container(pod: TestPod, name: string, script: string): Promise<TestContainer> {
    const container = await this.until(() => pod.create({ metadata: { name, attempt: 0 }, command: ['sh', '-c', script] }));
    await this.until(async () => {
      // The daemon may have died with the start carried out.
      const { state } = await container.status();
      if (state === ContainerState.CONTAINER_CREATED) await this.node.cri.runtime.startContainer({ containerId: container.id }, CALL);
    });
    return container;
  }

  private async expectExit(container: TestContainer, codes: readonly number[]): Promise<void> {
    const { exitCode, reason, message } = await this.until(() => container.exit());
    if (codes.includes(exitCode)) this.result.trueExits += 1;
    else this.result.wrong.push(`container ${container.id}: exit code ${exitCode} (${reason}: ${message}), not ${codes.join(' or ')}`);
  }

  /** Repeats a call until a daemon lives long enough to carry it out. */
  private async until<T>(call: () => Promise<T>): Promise<T> {
    for (const late = Date.now() + patience(WORKS_MS); ; await pause(AGAIN_MS)) {
      try {
        this.result.calls += 1;
        const answer = await call();
        this.result.done += 1;
        return answer;
      } catch (error) {
        if (!(error instanceof CriCallError) || !PASSING.has(error.code) || Date.now() > late) throw error;
      }
    }
  }
}
