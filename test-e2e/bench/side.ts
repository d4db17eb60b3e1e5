import { setTimeout as pause } from 'node:timers/promises';
import { RuntimeServiceService, VersionRequest } from '@criquet/cri-api';
import { patience } from '../harness/environment.js';
import { TestNode, type NodeOptions, type Runtime } from '../harness/node.js';
import { BUSYBOX, CALL } from '../harness/pods.js';
import type { Caller } from './caller/caller.js';
import type { ClientCost } from './caller/client-cost.js';
import { RawClient, type RawRequest } from './caller/raw-client.js';
import { inBatches } from './in-batches.js';
import { Pod } from './pod.js';
import { cpuSeconds, residentBytes } from './resident-memory.js';

/** How long a daemon may take until it serves. */
const SERVING_MS = 60_000;
/** Between two tries to reach one that starts. */
const TRY_MS = 2;
/** How many pods are made or removed at once where that is not what is measured. */
const AT_ONCE = 10;

const VERSION: RawRequest = { path: RuntimeServiceService.version.path, message: VersionRequest.encode({ version: '' }).finish() };

/** One of the two that are compared: a node of its own with criquet, or with containerd's own plugin. */
export class Side {
  /** Pods with a running container each, which stay until `stand` is called with less. */
  readonly standing: Pod[] = [];
  /** Pods that were run since the daemon that serves CRI was started. */
  podsRun = 0;
  private client: RawClient | undefined;

  private constructor(
    readonly node: TestNode,
    private readonly caller: Caller,
    private readonly clientCost: ClientCost,
  ) {}

  static async start(options: NodeOptions, caller: Caller, clientCost: ClientCost): Promise<Side> {
    const node = await TestNode.start({ ...options, logLevel: 'info', stateInMemory: true });
    try {
      await node.cri.image.pullImage({ image: { image: BUSYBOX } }, CALL);
    } catch (error) {
      await node.dispose();
      throw error;
    }
    return new Side(node, caller, clientCost);
  }

  get runtime(): Runtime {
    return this.node.options.runtime;
  }

  /** Makes or removes standing pods until so many are there. */
  async stand(count: number): Promise<void> {
    await inBatches(Math.max(0, count - this.standing.length), AT_ONCE, async () => {
      this.standing.push(await Pod.start(this));
    });
    await inBatches(Math.max(0, this.standing.length - count), AT_ONCE, async () => {
      await this.standing.pop()?.remove();
    });
  }

  /** The container of a standing pod. */
  standingContainer(): string {
    const [pod] = this.standing;
    if (pod === undefined) throw new Error('no pod stands here');
    return pod.containerId;
  }

  /** One call whose reply is not decoded. */
  async call(request: RawRequest): Promise<Buffer> {
    this.client ??= await RawClient.connect(this.socketPath);
    return this.client.call(request);
  }

  /** Makes calls as fast as they are answered, by a process of its own: calls a second, and the daemon's CPU for each, in microseconds. */
  async burst(request: RawRequest, callers: number, milliseconds: number): Promise<{ callsPerSecond: number; cpuPerCall: number }> {
    const message = Buffer.from(request.message).toString('base64');
    const before = await cpuSeconds(this.pid);
    const result = await this.caller.burst({ socketPath: this.socketPath, path: request.path, message, callers, milliseconds });
    this.clientCost.add(request.path, result);
    const cpu = (await cpuSeconds(this.pid)) - before;
    return { callsPerSecond: result.calls / result.seconds, cpuPerCall: (cpu / result.calls) * 1e6 };
  }

  /** Stops the daemon that serves CRI and starts it again: seconds from the spawn until it answers Version. */
  async restart(): Promise<number> {
    this.client?.close();
    this.client = undefined;
    const daemon = this.node.criquet ?? this.node.containerd;
    await daemon.stop();
    let answeredAt = 0;
    const began = performance.now();
    await daemon.start({
      ready: async () => {
        answeredAt = await this.answering();
      },
    });
    this.node.reconnect();
    this.podsRun = 0;
    // containerd's plugin answers before it says that it is ready.
    await this.ready();
    return (answeredAt - began) / 1000;
  }

  /** Resident bytes of the daemon that serves CRI, and with the containerd below it where that is another one. */
  async memory(): Promise<{ own: number; withContainerd: number }> {
    const own = await residentBytes(this.pid);
    const { criquet, containerd } = this.node;
    return { own, withContainerd: criquet === undefined ? own : own + (await residentBytes(containerd.pid ?? 0)) };
  }

  /** The process that serves CRI. */
  get pid(): number {
    const pid = this.node.runtimePid;
    if (pid === undefined) throw new Error(`${this.runtime} does not run`);
    return pid;
  }

  async dispose(): Promise<void> {
    this.client?.close();
    await this.stand(0).catch(() => undefined);
    await this.node.dispose();
  }

  private get socketPath(): string {
    return this.node.endpoint.replace('unix://', '');
  }

  /** The time at which the starting daemon answered. */
  private async answering(): Promise<number> {
    const end = performance.now() + patience(SERVING_MS);
    for (;;) {
      let client: RawClient | undefined;
      try {
        client = await RawClient.connect(this.socketPath);
        await client.call(VERSION);
        return performance.now();
      } catch (error) {
        if (performance.now() > end) throw error;
        await pause(TRY_MS);
      } finally {
        client?.close();
      }
    }
  }

  private async ready(): Promise<void> {
    const end = performance.now() + patience(SERVING_MS);
    for (;;) {
      try {
        return await this.node.expectReady();
      } catch (error) {
        if (performance.now() > end) throw error;
        await pause(50);
      }
    }
  }
}
