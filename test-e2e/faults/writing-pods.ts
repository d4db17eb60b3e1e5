import { setTimeout as pause } from 'node:timers/promises';
import { ContainerState } from '@criquet/cri-api';
import type { Gap } from '../harness/counted-lines.js';
import { patience } from '../harness/environment.js';
import { eventually } from '../harness/eventually.js';
import type { TestNode } from '../harness/node.js';
import type { Test } from '../harness/on-each-engine.js';
import { CALL, TestPod } from '../harness/pods.js';
import { CountingContainer, type Writing } from './counting-container.js';
import type { Random } from './random.js';
import { onNodeNetwork } from './scenarios/configs.js';
import { criquetOf } from './scenarios/dying-daemon.js';

/** Slow, steady, as fast as it goes; with lines that are longer than a record (16 KiB) and than a pipe (64 KiB). */
const WRITINGS: readonly Writing[] = [{ bytes: 30, every: 0.3 }, { bytes: 100, every: 0.03 }, { bytes: 60 }, { bytes: 20_000, every: 0.2 }, { bytes: 40_000, every: 0.5 }, { bytes: 100_000, every: 1 }];
/** Pods that are started at once. */
const AT_ONCE = 6;

export interface WritingPodsOptions {
  readonly pods: number;
  /** Containers that end while there is no daemon, each time. */
  readonly ending: number;
  /** How long there is none, at most. */
  readonly awayMs: number;
}

/** What the logs of all containers hold. */
export interface LoadAccount {
  lines: number;
  readonly gaps: Gap[];
  /** Gaps of the stream that has the most. */
  most: number;
}

/** Pods that write while their daemon comes and goes. */
export class WritingPods {
  exits = 0;
  rotations = 0;
  private readonly ended: CountingContainer[] = [];

  private constructor(
    private readonly node: TestNode,
    private readonly random: Random,
    private readonly options: WritingPodsOptions,
    private readonly pods: readonly TestPod[],
    private writers: CountingContainer[],
  ) {}

  static async start(node: TestNode, random: Random, options: WritingPodsOptions): Promise<WritingPods> {
    const pods: TestPod[] = [];
    const writers: CountingContainer[] = [];
    const start = async (index: number): Promise<void> => {
      const pod = await TestPod.run(node, index % 2 === 0 ? onNodeNetwork(node) : {});
      pods.push(pod);
      writers.push(await CountingContainer.start(pod, `writer-${index}`, WRITINGS[index % WRITINGS.length] ?? { bytes: 1 }, 1 + index));
    };
    for (let index = 0; index < options.pods; index += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, options.pods - index) }, (_, more) => start(index + more)));
    }
    return new WritingPods(node, random, options, pods, writers);
  }

  /** The daemon goes; containers end; it comes back, and all is as it has to be. */
  async outlive(t: Test, leave: () => Promise<void>): Promise<void> {
    const { node, random } = this;
    const ending = await Promise.all(Array.from({ length: this.options.ending }, (_, index) => this.startEnding(index)));
    // One writer too: its last lines are written with nobody to read them.
    const [lasting] = this.writers.splice(random.between(0, this.writers.length - 1), 1);
    if (lasting !== undefined) ending.push(lasting);
    const expected = await this.picture();
    const rotating = this.rotateAll();
    await pause(patience(random.between(100, 1_000)));
    await leave();
    await rotating;
    node.reconnect();
    await Promise.all(ending.map((container) => container.letEnd()));
    await pause(patience(random.between(500, this.options.awayMs)));
    await criquetOf(node).start();
    await eventually(() => node.expectReady(), 30_000);

    await this.expectExits(t, ending);
    t.equal(await this.picture(), expected, 'the same containers, started once');
    await this.expectGrowth();
    this.ended.push(...ending);
  }

  /** Ends every writer. */
  async end(t: Test): Promise<void> {
    await Promise.all(this.writers.map((writer) => writer.letEnd()));
    await this.expectExits(t, this.writers);
    this.ended.push(...this.writers.splice(0));
  }

  /** Every line of every container, up to the last that is in its log, or that it wrote where it has ended. */
  async account(t: Test): Promise<LoadAccount> {
    const sum: LoadAccount = { lines: 0, gaps: [], most: 0 };
    const wrong: string[] = [];
    for (const writer of [...this.writers, ...this.ended]) {
      const account = await writer.account(this.ended.includes(writer) ? await writer.last() : undefined);
      for (const [stream, { lines, gaps, wrong: found }] of Object.entries(account)) {
        sum.lines += lines;
        sum.gaps.push(...gaps);
        sum.most = Math.max(sum.most, gaps.length);
        wrong.push(...found.map((what) => `${writer.container.logFile} ${stream}: ${what}`));
      }
      if (await writer.hadSigpipe()) wrong.push(`${writer.container.logFile}: SIGPIPE`);
    }
    t.strictSame(wrong, [], 'no line twice, out of order or mixed with another');
    return sum;
  }

  private startEnding(index: number): Promise<CountingContainer> {
    const pod = this.pods[this.random.between(0, this.pods.length - 1)];
    if (pod === undefined) throw new Error('no pod');
    return CountingContainer.start(pod, `ending-${this.ended.length}-${index}`, { bytes: 20, every: 0.2 }, this.random.between(100, 250));
  }

  private async expectExits(t: Test, containers: readonly CountingContainer[]): Promise<void> {
    const exits = await Promise.all(containers.map(async ({ container, code }) => ({ code, ...(await container.exit(60_000)) })));
    t.strictSame(
      exits.filter(({ code, exitCode, finishedAt, startedAt }) => exitCode !== code || finishedAt < startedAt).map(({ id, code, exitCode }) => `${id}: ${exitCode}, not ${code}`),
      [],
      `${exits.length} exit codes`,
    );
    this.exits += exits.length;
  }

  /** Ids, attempts and times of what runs. */
  private async picture(): Promise<string> {
    const { runtime } = this.node.cri;
    const lines = await Promise.all(
      this.writers.map(async ({ container }) => {
        const { status } = await runtime.containerStatus({ containerId: container.id }, CALL);
        return `${status?.id} ${status?.metadata?.attempt} ${ContainerState[status?.state ?? 0]} ${status?.createdAt} ${status?.startedAt}`;
      }),
    );
    const { items } = await runtime.listPodSandbox({}, CALL);
    return [...lines, ...items.map(({ id, state }) => `${id} ${state}`)].sort().join('\n');
  }

  /** The daemon may go in the middle of it. */
  private async rotateAll(): Promise<void> {
    await Promise.all(
      this.writers.map(async (writer) => {
        await pause(this.random.between(0, patience(1_000)));
        await writer.rotate(this.node).then(
          () => (this.rotations += 1),
          () => undefined,
        );
      }),
    );
  }

  private async expectGrowth(): Promise<void> {
    const before = await Promise.all(this.writers.map((writer) => writer.size()));
    await eventually(async () => {
      const now = await Promise.all(this.writers.map((writer) => writer.size()));
      const still = this.writers.filter((_, index) => (now[index] ?? 0) <= (before[index] ?? 0));
      if (still.length > 0) throw new Error(`stand still: ${still.map(({ container }) => container.logFile).join(', ')}`);
    }, 60_000, 500);
  }
}
