import {
  ContainerState,
  ContainerStatus,
  CriCallError,
  Image,
  PodSandboxState,
  PodSandboxStatus,
  type ContainerConfig,
  type CriClient,
  type ExecSyncResponse,
  type ImageCalls,
  type PodSandboxConfig,
  type RuntimeCalls,
} from '@criquet/cri-api';

/** gRPC status codes that the fake answers with. */
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

/** A call that the fake received. */
export interface ReceivedCall {
  /** As CRI names it: `RunPodSandbox`. */
  readonly call: string;
  readonly request: Readonly<Record<string, unknown>>;
}

interface FakeSandbox {
  readonly config: PodSandboxConfig;
  readonly status: PodSandboxStatus;
}

interface FakeContainer {
  readonly config: ContainerConfig;
  readonly sandboxId: string;
  readonly status: ContainerStatus;
}

/** How containers of a name behave: with an exit code they end as soon as they have started, else they run. */
export interface FakeBehaviour {
  readonly exitCode?: number;
  readonly reason?: string;
}

type Handler = (request: never) => object;

/**
 * A CRI runtime in memory, for tests of what calls one: sandboxes and containers have states and go through them as with a real
 * runtime, but nothing runs.
 */
export class FakeRuntime implements CriClient {
  /** Every call in the order in which it came. */
  readonly calls: ReceivedCall[] = [];
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  /** Images that are present: by reference as it is asked for. */
  readonly images = new Map<string, Image>();
  /** By container name. */
  readonly behaviour = new Map<string, FakeBehaviour>();
  /** What ExecSync answers; by default nothing and code 0. */
  exec: (containerName: string, command: readonly string[]) => Partial<ExecSyncResponse> = () => ({});
  /** Nanoseconds since 1970; every call advances it by a microsecond, so that times differ. */
  now = 1_700_000_000_000_000_000n;
  /** Address of the next sandbox. */
  nextIp = 2;

  private readonly failures: { readonly call: string; readonly error: Error; left: number }[] = [];
  private nextId = 1;

  readonly runtime: RuntimeCalls = this.service<RuntimeCalls>({
    version: () => ({ version: '0.1.0', runtimeName: 'fake', runtimeVersion: '1', runtimeApiVersion: 'v1' }),
    runPodSandbox: (request: { config: PodSandboxConfig; runtimeHandler: string }) => this.runSandbox(request.config, request.runtimeHandler),
    stopPodSandbox: (request: { podSandboxId: string }) => this.stopSandbox(request.podSandboxId),
    removePodSandbox: (request: { podSandboxId: string }) => this.removeSandbox(request.podSandboxId),
    podSandboxStatus: (request: { podSandboxId: string }) => ({ status: this.sandbox(request.podSandboxId).status, info: {} }),
    listPodSandbox: (request: { filter?: { labelSelector?: Record<string, string> } }) => ({
      items: [...this.sandboxes.values()].map(({ status }) => status).filter(matching(request.filter?.labelSelector)),
    }),
    createContainer: (request: { podSandboxId: string; config: ContainerConfig }) => this.create(request.podSandboxId, request.config),
    startContainer: (request: { containerId: string }) => this.start(request.containerId),
    stopContainer: (request: { containerId: string }) => this.stop(request.containerId),
    removeContainer: (request: { containerId: string }) => {
      this.containers.delete(request.containerId);
      return {};
    },
    containerStatus: (request: { containerId: string }) => ({ status: this.container(request.containerId).status, info: {} }),
    listContainers: (request: { filter?: { labelSelector?: Record<string, string> } }) => ({
      containers: [...this.containers.values()]
        .filter(({ status }) => matching(request.filter?.labelSelector)(status))
        .map(({ status, sandboxId }) => ({ ...status, podSandboxId: sandboxId })),
    }),
    execSync: (request: { containerId: string; cmd: string[] }) => ({
      stdout: Buffer.alloc(0),
      stderr: Buffer.alloc(0),
      exitCode: 0,
      ...this.exec(this.container(request.containerId).status.metadata?.name ?? '', request.cmd),
    }),
  });

  readonly image: ImageCalls = this.service<ImageCalls>({
    imageStatus: (request: { image: { image: string } }) => ({ image: this.images.get(request.image.image), info: {} }),
    pullImage: (request: { image: { image: string } }) => {
      const { image } = request.image;
      const id = `sha256:${Buffer.from(image).toString('hex')}`;
      const record = this.images.get(image) ?? Image.fromPartial({ id, repoTags: [image], uid: { value: 0n } });
      this.images.set(image, record).set(record.id, record);
      return { imageRef: record.id };
    },
  });

  /** Makes the next `times` calls of a name fail. */
  failNext(call: string, error: Error, times = 1): void {
    this.failures.push({ call, error, left: times });
  }

  /** Ends a running container. */
  exit(name: string, exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error'): void {
    const running = [...this.containers.values()].find(
      ({ status }) => status.metadata?.name === name && status.state === ContainerState.CONTAINER_RUNNING,
    );
    if (running === undefined) throw new Error(`no container ${name} is running`);
    this.end(running.status, exitCode, reason);
  }

  /** The newest container of a name. */
  latest(name: string): ContainerStatus | undefined {
    return [...this.containers.values()].map(({ status }) => status).findLast((status) => status.metadata?.name === name);
  }

  /** The configuration with which the newest container of a name was created. */
  configOf(name: string): ContainerConfig | undefined {
    return [...this.containers.values()].findLast(({ config }) => config.metadata?.name === name)?.config;
  }

  /** Names of the calls so far that change something, each with what it was about. */
  get actions(): string[] {
    return this.calls.filter(({ call }) => !/^(List|.*Status$|Version)/.test(call)).map(({ call, request }) => describe(call, request, this));
  }

  private service<T>(handlers: Readonly<Record<string, Handler>>): T {
    const calls = new Proxy(handlers, {
      get: (all, name: string) => (request: Record<string, unknown>) => this.answer(name, request, all[name]),
    });
    return calls as unknown as T;
  }

  private async answer(name: string, request: Record<string, unknown>, handler: Handler | undefined): Promise<object> {
    const call = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    this.now += 1000n;
    this.calls.push({ call, request });
    const failure = this.failures.find((candidate) => candidate.call === call && candidate.left > 0);
    if (failure !== undefined) {
      failure.left--;
      throw failure.error;
    }
    if (handler === undefined) throw new CriCallError(call, UNIMPLEMENTED, `${call} is not implemented by the fake`);
    return handler(request as never);
  }

  private runSandbox(config: PodSandboxConfig, runtimeHandler: string): { podSandboxId: string } {
    const id = this.id();
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 2;
    const status = PodSandboxStatus.fromPartial({
      id,
      metadata: { ...config.metadata },
      state: PodSandboxState.SANDBOX_READY,
      createdAt: this.now,
      network: hostNetwork ? {} : { ip: `10.0.0.${this.nextIp++}` },
      linux: { namespaces: { options: { ...config.linux?.securityContext?.namespaceOptions } } },
      labels: { ...config.labels },
      annotations: { ...config.annotations },
      runtimeHandler,
    });
    this.sandboxes.set(id, { config, status });
    return { podSandboxId: id };
  }

  private stopSandbox(id: string): object {
    const sandbox = this.sandboxes.get(id);
    if (sandbox !== undefined) sandbox.status.state = PodSandboxState.SANDBOX_NOTREADY;
    for (const { status, sandboxId } of this.containers.values()) {
      if (sandboxId === id && status.state === ContainerState.CONTAINER_RUNNING) this.end(status, 137, 'Error');
    }
    return {};
  }

  private removeSandbox(id: string): object {
    this.stopSandbox(id);
    this.sandboxes.delete(id);
    for (const [containerId, { sandboxId }] of this.containers) if (sandboxId === id) this.containers.delete(containerId);
    return {};
  }

  private create(sandboxId: string, config: ContainerConfig): { containerId: string } {
    const sandbox = this.sandbox(sandboxId);
    const id = this.id();
    const status = ContainerStatus.fromPartial({
      id,
      metadata: { ...config.metadata },
      state: ContainerState.CONTAINER_CREATED,
      createdAt: this.now,
      image: { ...config.image },
      imageRef: config.image?.image ?? '',
      labels: { ...config.labels },
      annotations: { ...config.annotations },
      mounts: config.mounts.map((mount) => ({ ...mount })),
      logPath: `${sandbox.config.logDirectory}/${config.logPath}`,
    });
    this.containers.set(id, { config, sandboxId, status });
    return { containerId: id };
  }

  private start(id: string): object {
    const { status } = this.container(id);
    status.state = ContainerState.CONTAINER_RUNNING;
    status.startedAt = this.now;
    const { exitCode, reason } = this.behaviour.get(status.metadata?.name ?? '') ?? {};
    if (exitCode !== undefined) this.end(status, exitCode, reason ?? (exitCode === 0 ? 'Completed' : 'Error'));
    return {};
  }

  private stop(id: string): object {
    const container = this.containers.get(id);
    if (container?.status.state === ContainerState.CONTAINER_RUNNING) this.end(container.status, 143, 'Error');
    return {};
  }

  private end(status: ContainerStatus, exitCode: number, reason: string): void {
    status.state = ContainerState.CONTAINER_EXITED;
    status.finishedAt = this.now;
    status.exitCode = exitCode;
    status.reason = reason;
  }

  private sandbox(id: string): FakeSandbox {
    const sandbox = this.sandboxes.get(id);
    if (sandbox === undefined) throw new CriCallError('PodSandboxStatus', NOT_FOUND, `sandbox ${id} not found`);
    return sandbox;
  }

  private container(id: string): FakeContainer {
    const container = this.containers.get(id);
    if (container === undefined) throw new CriCallError('ContainerStatus', NOT_FOUND, `container ${id} not found`);
    return container;
  }

  private id(): string {
    return (this.nextId++).toString(16).padStart(64, '0');
  }
}

function matching(selector: Readonly<Record<string, string>> | undefined) {
  return ({ labels }: { labels: Readonly<Record<string, string>> }) =>
    Object.entries(selector ?? {}).every(([name, value]) => labels[name] === value);
}

function describe(call: string, request: Readonly<Record<string, unknown>>, fake: FakeRuntime): string {
  const { containerId, config, image } = request as { containerId?: string; config?: ContainerConfig; image?: { image: string } };
  const name = config?.metadata?.name ?? fake.containers.get(containerId ?? '')?.config.metadata?.name ?? image?.image;
  return name === undefined ? call : `${call} ${name}`;
}
