import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ContainerConfig, DeepPartial, PodSandboxConfig } from '@criquet/cri-api';
import type { CriConnection } from '@criquet/cri-api';
import { BUSYBOX, CALL, TestPod } from '../harness/pods.js';
import type { Side } from './side.js';

/** Milliseconds by call. */
export type Times = Record<string, number>;

export const SLEEPING: DeepPartial<ContainerConfig> = { command: ['sleep', '3600'] };

/** One that ends at the first SIGTERM, and says when it has come so far. */
export const OBEDIENT: DeepPartial<ContainerConfig> = { command: ['sh', '-c', 'trap "exit 0" TERM; echo ready; while :; do sleep 3600 & wait; done'] };

/** A pod of one busybox container, and what the calls for it took. */
export class Pod {
  readonly times: Times = {};
  private sandboxId = '';
  private mainId = '';

  private constructor(
    private readonly side: Side,
    private readonly config: DeepPartial<PodSandboxConfig>,
  ) {}

  /** RunPodSandbox, CreateContainer, StartContainer. */
  static async start(side: Side, container: DeepPartial<ContainerConfig> = SLEEPING): Promise<Pod> {
    const pod = new Pod(side, TestPod.config(side.node));
    side.podsRun += 1;
    const { config, runtime } = pod;
    const { podSandboxId } = await pod.timed('RunPodSandbox', () => runtime.runPodSandbox({ config }, CALL));
    pod.sandboxId = podSandboxId;
    const { containerId } = await pod.timed('CreateContainer', () =>
      runtime.createContainer({ podSandboxId, config: { ...CONTAINER, ...container }, sandboxConfig: config }, CALL),
    );
    pod.mainId = containerId;
    await pod.timed('StartContainer', () => runtime.startContainer({ containerId }, CALL));
    return pod;
  }

  get containerId(): string {
    return this.mainId;
  }

  /** The sum of some calls. */
  took(...calls: readonly string[]): number {
    return calls.reduce((sum, call) => sum + (this.times[call] ?? Number.NaN), 0);
  }

  async stopContainer(timeout: bigint): Promise<void> {
    await this.timed('StopContainer', () => this.runtime.stopContainer({ containerId: this.mainId, timeout }, CALL));
  }

  async removeContainer(): Promise<void> {
    await this.timed('RemoveContainer', () => this.runtime.removeContainer({ containerId: this.mainId }, CALL));
  }

  /** StopPodSandbox, RemovePodSandbox. */
  async remove(): Promise<void> {
    await this.stopSandbox();
    await this.removeSandbox();
  }

  async stopSandbox(): Promise<void> {
    await this.timed('StopPodSandbox', () => this.runtime.stopPodSandbox({ podSandboxId: this.sandboxId }, CALL));
  }

  async removeSandbox(): Promise<void> {
    await this.timed('RemovePodSandbox', () => this.runtime.removePodSandbox({ podSandboxId: this.sandboxId }, CALL));
  }

  /** Waits until the container has written something. */
  async said(): Promise<void> {
    for (const end = performance.now() + CALL.timeoutMs; (await this.logBytes()) === 0; await pause(5)) {
      if (performance.now() > end) throw new Error('the container says nothing');
    }
  }

  get logFile(): string {
    return join(this.config.logDirectory ?? '', CONTAINER.logPath);
  }

  /** Bytes that its log file has. */
  async logBytes(): Promise<number> {
    return (await stat(this.logFile).catch(() => undefined))?.size ?? 0;
  }

  /** Adds containers that are created and not started. */
  async create(name: string): Promise<void> {
    const container = { ...CONTAINER, ...SLEEPING, metadata: { name, attempt: 0 }, logPath: `${name}.log` };
    await this.runtime.createContainer({ podSandboxId: this.sandboxId, config: container, sandboxConfig: this.config }, CALL);
  }

  private get runtime(): CriConnection['runtime'] {
    return this.side.node.cri.runtime;
  }

  private async timed<T>(call: string, make: () => Promise<T>): Promise<T> {
    const began = performance.now();
    const reply = await make();
    this.times[call] = performance.now() - began;
    return reply;
  }
}

const CONTAINER = {
  metadata: { name: 'main', attempt: 0 },
  image: { image: BUSYBOX },
  logPath: 'main.log',
  labels: { 'io.kubernetes.container.name': 'main' },
};
