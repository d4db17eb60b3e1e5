import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectCri, type CriConnection } from '@criquet/cri-api';
import { FailpointFiles } from '../faults/failpoint-file.js';
import { cgroupDriver, cgroupParentOf, type CgroupDriver } from './cgroup-driver.js';
import { Containerd, CONTAINERD_STATE } from './containerd.js';
import { Criquet, CRIQUET_STATE, type CriquetOptions } from './criquet.js';
import { patience, readEnvironment, type Engine, type Environment } from './environment.js';
import { killProcesses, removeVolatile, unmountAll } from './end-of-node.js';
import { eventually } from './eventually.js';
import { compareNodeStates, readNodeState, type NodeState, type NodeStateScope } from './node-state.js';
import { removePodNetwork, writePodNetwork, type PodNetwork } from './pod-network.js';
import { here, type Place } from './place.js';
import { startRegistry, type Registry } from './registry.js';
import { writeRegistryHosts } from './registry-hosts.js';
import { run, tryRun } from './run.js';

/** Who serves CRI: criquet, or containerd's own plugin as the yardstick. */
export type Runtime = 'criquet' | 'containerd';

export interface NodeOptions {
  readonly engine: Engine;
  readonly runtime: Runtime;
  /** Lines for the end of criquet's configuration file. */
  readonly extraConfig?: string;
  /** criquet's `containerd.call_timeout`, for example `3s`. Default: its own. */
  readonly callTimeout?: string;
  /** Names of runtime handlers beside `runc`, which are made like it. */
  readonly handlers?: readonly string[];
  /** Added to criquet's environment. */
  readonly criquetEnv?: Readonly<Record<string, string>>;
  /** criquet's log level. Default: debug. */
  readonly logLevel?: string;
  /** criquet's `sandbox_image`. Default: its built-in pause process. */
  readonly sandboxImage?: string;
  /** The snapshotters whose snapshots are compared. Default: overlayfs. */
  readonly snapshotters?: readonly string[];
  /** Whether criquet is started with failpoints, which {@link TestNode.failpoints} arms. */
  readonly withFailpoints?: boolean;
  readonly environment?: Environment;
  /** Where its daemons run. Default: the namespaces of this process. */
  readonly place?: Place;
  /** A registry that several nodes share. Default: one of the node's own, on loopback. */
  readonly registry?: Registry;
  /** Whether the daemons' state directories are file systems in memory, as `/run` of a real node is. Default: they lie on the disk. */
  readonly stateInMemory?: boolean;
  /** The subnet of its pods, a /24. Default: a free one. */
  readonly podSubnet?: string;
}

/** The image of containerd's own sandboxes; a look-alike in the suites' registry. */
const SANDBOX_IMAGE = 'registry.k8s.io/pause:3.10';

/** A node of a test's own: containerd, registry, CNI configuration and a CRI runtime in private places. */
export class TestNode {
  /** Pids of daemons that others run in the node's places, as a kubelet: like its own they are not compared, since a test may start them again. */
  readonly daemonsBeside: (() => number | undefined)[] = [];
  private connection: CriConnection | undefined;
  private startedRegistry: Registry | undefined;
  private startedContainerd: Containerd | undefined;
  private startedCriquet: Criquet | undefined;

  private constructor(
    readonly environment: Environment,
    readonly options: NodeOptions,
    /** Everything of the node is below it. */
    readonly directory: string,
    /** Cgroup parent for its pods, unique on the machine. */
    readonly cgroupParent: string,
    readonly network: PodNetwork,
    readonly hostsDir: string,
  ) {}

  static async start(options: NodeOptions): Promise<TestNode> {
    const environment = options.environment ?? readEnvironment();
    const binDir = environment.containerd[options.engine];
    if (binDir === undefined) throw new Error(`containerd ${options.engine} is not there`);
    const tag = randomBytes(4).toString('hex');
    const directory = join(environment.root, `criquet-e2e-${tag}`);
    await mkdir(directory, { recursive: true });
    const network = await writePodNetwork(directory, options.podSubnet);
    const node = new TestNode(environment, options, directory, `criquet-e2e-${tag}`, network, join(directory, 'hosts'));
    try {
      await node.startDaemons(binDir);
    } catch (error) {
      await node.dispose();
      throw error;
    }
    return node;
  }

  private async startDaemons(binDir: string): Promise<void> {
    const { environment, options, directory, network, hostsDir } = this;
    this.startedRegistry = options.registry === undefined ? await this.startOwnRegistry() : undefined;
    await writeRegistryHosts(hostsDir, this.registry.url);
    const places = { cniConfDir: network.confDir, cniBinDirs: [this.ownPluginDir, environment.cniBinDir], hostsDir };
    const place = options.place ?? here;
    if (options.stateInMemory === true) await this.mountState(place);
    this.startedContainerd = await Containerd.start({
      binDir,
      tools: environment.tools,
      directory,
      place,
      ...(options.runtime === 'criquet' ? {} : { cri: { sandboxImage: SANDBOX_IMAGE, cgroupDriver: this.cgroupDriver, handlers: options.handlers ?? [], ...places } }),
    });
    if (options.runtime === 'criquet') {
      this.startedCriquet = await Criquet.start({
        ...(options.withFailpoints === true ? this.criquetWithFailpoints() : { program: environment.criquetProgram, env: options.criquetEnv ?? {} }),
        directory,
        place,
        containerdSocket: this.containerd.paths.socket,
        ...(options.logLevel === undefined ? {} : { logLevel: options.logLevel }),
        ...(options.callTimeout === undefined ? {} : { callTimeout: options.callTimeout }),
        ...(options.sandboxImage === undefined ? {} : { sandboxImage: options.sandboxImage }),
        extraConfig: `${options.extraConfig ?? ''}${handlerTables(options.handlers)}`,
        ...places,
      });
    }
    await eventually(() => this.expectReady(), 60_000);
  }

  /** Unmounted with all that is left in the node's places. */
  private async mountState(place: Place): Promise<void> {
    for (const name of [CONTAINERD_STATE, CRIQUET_STATE]) {
      const directory = join(this.directory, name);
      await mkdir(directory, { mode: 0o711 });
      await run(...place.command('mount', ['-t', 'tmpfs', '-o', 'mode=711', 'criquet-e2e', directory]));
    }
  }

  /** As `scripts/criquet` starts it, and able to collect its garbage when it is told to. */
  private criquetWithFailpoints(): Pick<CriquetOptions, 'program' | 'programArguments' | 'env'> {
    const program = join(this.environment.checkout, 'test-e2e/dist/faults/serve-with-failpoints.js');
    return {
      program: process.execPath,
      programArguments: ['--max-semi-space-size=2', '--expose-gc', program],
      env: { UV_THREADPOOL_SIZE: '8', MALLOC_ARENA_MAX: '1', CRIQUET_FAILPOINTS: this.directory },
    };
  }

  private startOwnRegistry(): Promise<Registry> {
    const { registryProgram: program, registryStorage: storage } = this.environment;
    return startRegistry({ program, storage, directory: this.directory });
  }

  get registry(): Registry {
    const registry = this.options.registry ?? this.startedRegistry;
    if (registry === undefined) throw new Error('the registry was not started');
    return registry;
  }

  get containerd(): Containerd {
    if (this.startedContainerd === undefined) throw new Error('containerd was not started');
    return this.startedContainerd;
  }

  /** `cgroup_parent` of the node's pods as its cgroup driver wants it; with `name` (no dashes) a cgroup of a pod's own below it. */
  podCgroup(name = ''): string {
    return cgroupParentOf(this.cgroupParent, name, this.cgroupDriver);
  }

  /** Who makes its pods' cgroups; there is no systemd in a place of its own. */
  get cgroupDriver(): CgroupDriver {
    return this.options.place === undefined ? cgroupDriver : 'cgroupfs';
  }

  /** What a criquet `withFailpoints` obeys. */
  get failpoints(): FailpointFiles {
    return new FailpointFiles(this.directory);
  }

  /** Undefined where containerd's own plugin serves. */
  get criquet(): Criquet | undefined {
    return this.startedCriquet;
  }

  /** The CRI endpoint, `unix:///…`. */
  get endpoint(): string {
    return this.criquet?.endpoint ?? `unix://${this.containerd.paths.socket}`;
  }

  /** Directory of CNI plugins that a test brings itself; searched first. */
  get ownPluginDir(): string {
    return join(this.directory, 'own-plugins');
  }

  /** A CRI client of the endpoint; one for the node's life. */
  get cri(): CriConnection {
    this.connection ??= connectCri({ endpoint: this.endpoint });
    return this.connection;
  }

  /** A new connection: an old one tries again only after a pause when its daemon was killed. */
  reconnect(): void {
    this.connection?.close();
    this.connection = undefined;
  }

  /** Pid of the process that serves CRI. */
  get runtimePid(): number | undefined {
    return this.criquet === undefined ? this.containerd.pid : this.criquet.pid;
  }

  /** Rejects unless runtime and network say they are ready. */
  async expectReady(): Promise<void> {
    const { status } = await this.cri.runtime.status({}, { timeoutMs: patience(5_000) });
    const required = ['RuntimeReady', 'NetworkReady'];
    const waiting = status?.conditions.filter(({ type, status: holds }) => required.includes(type) && !holds) ?? [];
    if (status === undefined || waiting.length > 0) {
      throw new Error(waiting.map((condition) => `${condition.type}: ${condition.reason} ${condition.message}`).join('; '));
    }
  }

  /** What the node's pods have on the machine at this moment. */
  async state(): Promise<NodeState> {
    return readNodeState({ ...this.scope(), ctr: (...args) => this.containerd.ctr(...args) });
  }

  /** Waits until nothing differs from `before` any more; returns what still does after `timeoutMs` (default 15 s: criquet cleans up after each start). */
  async leaksSince(before: NodeState, timeoutMs = 15_000): Promise<string[]> {
    const end = Date.now() + patience(timeoutMs);
    for (;;) {
      const differences = compareNodeStates(before, await this.state());
      if (differences.length === 0 || Date.now() > end) return differences;
      await pause(200);
    }
  }

  /** After a failure: criquet runs again with nothing armed, and without pods, as far as that can be had. */
  async startAfresh(): Promise<void> {
    this.failpoints.writeArmed([]);
    await this.criquet?.kill();
    this.reconnect();
    await this.criquet?.start();
    await this.removePods().catch(() => undefined);
  }

  /** Removes every pod over CRI. */
  async removePods(): Promise<void> {
    const { items } = await this.cri.runtime.listPodSandbox({}, { timeoutMs: patience(10_000) });
    await Promise.all(
      items.map(async ({ id }) => {
        await this.cri.runtime.stopPodSandbox({ podSandboxId: id }, { timeoutMs: patience(30_000) });
        await this.cri.runtime.removePodSandbox({ podSandboxId: id }, { timeoutMs: patience(30_000) });
      }),
    );
  }

  /** Copies the daemons' logs into a directory that outlives the node. */
  async keepLogs(directory: string): Promise<void> {
    await mkdir(directory, { recursive: true });
    for (const name of (await readdir(this.directory)).filter((file) => file.endsWith('.log'))) {
      await copyFile(join(this.directory, name), join(directory, name));
    }
  }

  /**
   * What a power failure takes from it: every process at once, and all that a machine keeps in memory: mounts, state directories, sockets. What
   * is on its disk stays. {@link boot} starts it again.
   */
  async cutPower(): Promise<void> {
    const place = this.options.place ?? here;
    await Promise.all([this.criquet?.stop('SIGKILL'), this.containerd.stop('SIGKILL')]);
    const registry = this.startedRegistry?.daemon.pid;
    await killProcesses(place, this.directory, registry === undefined ? [] : [registry]);
    await unmountAll(place, this.directory);
    await removeVolatile(this.directory, [this.containerd.paths.state, ...(this.criquet === undefined ? [] : [this.criquet.stateDir])]);
  }

  /** containerd and the runtime start, in this order, after {@link cutPower}. */
  async boot(): Promise<void> {
    await this.containerd.start();
    await this.criquet?.start();
    this.reconnect();
  }

  /** Ends the node and takes away all of it, pods that a failed test left included. */
  async dispose(): Promise<void> {
    if (this.startedCriquet !== undefined || this.options.runtime === 'containerd') await this.removePods().catch(() => undefined);
    this.connection?.close();
    await this.startedCriquet?.stop();
    await this.startedContainerd?.stop();
    await this.startedRegistry?.daemon.stop();
    await this.sweep();
    await removePodNetwork(this.network);
    await rm(this.directory, { recursive: true, force: true });
  }

  /** Kills by pid what still runs in the node's places, and unmounts what is left there. */
  private async sweep(): Promise<void> {
    const place = this.options.place ?? here;
    await killProcesses(place, this.directory);
    await unmountAll(place, this.directory);
    const { cgroups } = await readNodeState(this.scope());
    // systemd keeps the slices that it made for scopes, and takes their cgroups away itself.
    if (this.cgroupDriver === 'systemd') await tryRun('systemctl', ['stop', `${this.cgroupParent}.slice`]);
    for (const cgroup of [...cgroups].reverse()) await tryRun('rmdir', [cgroup]);
    for (const hierarchy of await readdir('/sys/fs/cgroup')) await tryRun('rmdir', [join('/sys/fs/cgroup', hierarchy, this.cgroupParent)]);
    await tryRun('rmdir', [join('/sys/fs/cgroup', this.cgroupParent)]);
  }

  private scope(): NodeStateScope {
    const { startedCriquet: criquet, startedContainerd: containerd } = this;
    return {
      ...(this.options.place === undefined ? {} : { place: this.options.place }),
      directory: this.directory,
      fileDirectories: criquet === undefined ? [] : [criquet.stateDir, criquet.rootDir, criquet.cniCacheDir],
      networkNames: [this.network.name, this.network.bridge, this.network.subnet.replace(/0\/24$/, '')],
      reservations: this.network.reservations,
      cgroupParent: this.cgroupParent,
      ...(criquet?.pid === undefined ? {} : { runtimePid: criquet.pid }),
      ...(this.options.snapshotters === undefined ? {} : { snapshotters: this.options.snapshotters }),
      daemons: [criquet?.pid, containerd?.pid, this.startedRegistry?.daemon.pid, ...this.daemonsBeside.map((pid) => pid())].filter((pid) => pid !== undefined),
    };
  }

  /** Names of files below a directory of the node, for assertions on what is left. */
  async filesBelow(...path: string[]): Promise<string[]> {
    return (await readdir(join(this.directory, ...path), { recursive: true }).catch((): string[] => [])).sort();
  }
}

/** Tables of criquet's configuration: where one handler is named, all are. */
function handlerTables(names: readonly string[] = []): string {
  return names.length === 0 ? '' : ['runc', ...names].map((name) => `\n[runtime.handlers.${name}]\n`).join('');
}
