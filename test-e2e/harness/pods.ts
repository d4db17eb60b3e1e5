import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContainerState, type ContainerConfig, type ContainerStatus, type DeepPartial, type PodSandboxConfig } from '@criquet/cri-api';
import { patience } from './environment.js';
import { eventually } from './eventually.js';
import { parseLogRecords, type LogRecord } from './log-records.js';
import type { TestNode } from './node.js';

/** The suites' ordinary image: busybox. */
export const BUSYBOX = 'registry.k8s.io/e2e-test-images/busybox:1.29-2';

/** Milliseconds for one CRI call of a test. */
export const CALL = { timeoutMs: patience(60_000) };

let names = 0;

/** A pod of one test. */
export class TestPod {
  private constructor(
    readonly node: TestNode,
    readonly id: string,
    readonly config: DeepPartial<PodSandboxConfig>,
  ) {}

  /** A complete sandbox configuration with a name of its own, the node's cgroup parent and a log directory. */
  static config(node: TestNode, overrides: DeepPartial<PodSandboxConfig> = {}): DeepPartial<PodSandboxConfig> {
    const name = `pod-${++names}`;
    return {
      metadata: { name, namespace: 'e2e', uid: `uid-${process.pid}-${names}`, attempt: 0 },
      hostname: name,
      logDirectory: join(node.directory, 'logs', name),
      labels: { 'io.kubernetes.pod.name': name, 'io.kubernetes.pod.namespace': 'e2e' },
      ...overrides,
      linux: { cgroupParent: node.podCgroup(), ...overrides.linux },
    };
  }

  /** @param runtimeHandler default: the node's default */
  static async run(node: TestNode, overrides: DeepPartial<PodSandboxConfig> = {}, runtimeHandler = ''): Promise<TestPod> {
    const config = TestPod.config(node, overrides);
    const { podSandboxId } = await node.cri.runtime.runPodSandbox({ config, runtimeHandler }, CALL);
    return new TestPod(node, podSandboxId, config);
  }

  /** The pod's address. */
  async ip(): Promise<string> {
    const { status } = await this.node.cri.runtime.podSandboxStatus({ podSandboxId: this.id }, CALL);
    return status?.network?.ip ?? '';
  }

  /** Creates a container; `overrides` are laid over a busybox that sleeps. Its log is NAME.log. */
  async create(overrides: DeepPartial<ContainerConfig> = {}): Promise<TestContainer> {
    const name = overrides.metadata?.name ?? `container-${++names}`;
    const config: DeepPartial<ContainerConfig> = {
      metadata: { name, attempt: 0 },
      image: { image: BUSYBOX },
      command: ['sleep', '3600'],
      logPath: `${name}.log`,
      labels: { 'io.kubernetes.container.name': name },
      ...overrides,
    };
    const image = config.image?.image ?? '';
    const present = await this.node.cri.image.imageStatus({ image: { image } }, CALL);
    if (present.image === undefined) await this.node.cri.image.pullImage({ image: { image } }, CALL);
    const { containerId } = await this.node.cri.runtime.createContainer(
      { podSandboxId: this.id, config, sandboxConfig: this.config },
      CALL,
    );
    return new TestContainer(this, containerId, config);
  }

  /** Creates and starts a container. */
  async start(overrides: DeepPartial<ContainerConfig> = {}): Promise<TestContainer> {
    const container = await this.create(overrides);
    await this.node.cri.runtime.startContainer({ containerId: container.id }, CALL);
    return container;
  }

  /** Runs a shell script in a container of its own to its end. */
  async script(script: string, overrides: DeepPartial<ContainerConfig> = {}): Promise<TestContainer> {
    const container = await this.start({ command: ['sh', '-c', script], ...overrides });
    await container.exit();
    return container;
  }

  async stop(): Promise<void> {
    await this.node.cri.runtime.stopPodSandbox({ podSandboxId: this.id }, CALL);
  }

  /** Stops and removes the pod with its containers. */
  async remove(): Promise<void> {
    await this.stop();
    await this.node.cri.runtime.removePodSandbox({ podSandboxId: this.id }, CALL);
  }
}

export class TestContainer {
  constructor(
    readonly pod: TestPod,
    readonly id: string,
    readonly config: DeepPartial<ContainerConfig>,
  ) {}

  async status(): Promise<ContainerStatus> {
    const { status } = await this.runtime.containerStatus({ containerId: this.id }, CALL);
    if (status === undefined) throw new Error(`no status of container ${this.id}`);
    return status;
  }

  /** Waits until it has exited and returns its status. */
  async exit(timeoutMs = 20_000): Promise<ContainerStatus> {
    return eventually(async () => {
      const status = await this.status();
      if (status.state !== ContainerState.CONTAINER_EXITED) throw new Error(`container ${this.id} is ${ContainerState[status.state]}`);
      return status;
    }, timeoutMs);
  }

  /** Runs a command in it; standard output and error as text. */
  async exec(cmd: string[], timeout = 10n): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    const reply = await this.runtime.execSync({ containerId: this.id, cmd, timeout }, CALL);
    return { exitCode: reply.exitCode, stdout: text(reply.stdout), stderr: text(reply.stderr) };
  }

  async stop(timeout = 0n): Promise<void> {
    await this.runtime.stopContainer({ containerId: this.id, timeout }, CALL);
  }

  async remove(): Promise<void> {
    await this.runtime.removeContainer({ containerId: this.id }, CALL);
  }

  /** Path of the log file. */
  get logFile(): string {
    return join(this.pod.config.logDirectory ?? '', this.config.logPath ?? '');
  }

  /** The log's records. Throws on a line that is not in the CRI format. */
  async log(): Promise<LogRecord[]> {
    return parseLogRecords(await readFile(this.logFile, 'utf8'), this.logFile);
  }

  private get runtime(): TestNode['cri']['runtime'] {
    return this.pod.node.cri.runtime;
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
