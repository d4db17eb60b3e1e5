import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectCri, type ContainerConfig, type CriConnection, type DeepPartial, type PodSandboxConfig } from '@criquet/cri-api';
import { attaching, FakeNetnsProvider, FakePluginRunner, type FakePlugin } from '@criquet/network-cni/testing';
import { connectContainerd, type Containerd } from '@criquet/runtime-containerd';
import { FakeContainerd, fakeImage, type FakeImage, type FakeProgram } from '@criquet/runtime-containerd/testing';
import { pino } from 'pino';
import { defaultConfig, type CriquetConfig } from '../../src/config/index.js';
import type { CriuProbe } from '../../src/checkpoint/criu-probe.js';
import type { Replacements } from '../../src/composition-root.js';
import { startShimServer, type ShimServer } from '../../src/start-shim-server.js';
import { unmount } from '../../src/runtime/mount.js';
import type { Failpoints, Moment } from '../../src/steps/failpoints.js';
import type { Place } from '../../src/steps/registry.js';

export const IMAGE = 'registry.test/app:1';
/** containerd.v1.types.Status */
const RUNNING = 2;

export const NAMESPACE = 'k8s.io';

const PASSWD = 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n';
const GROUP = 'root:x:0:\napp:x:1000:\nextra:x:2000:app\n';

/** Steps that fail on demand, before their deed or after it, and the record of every step that was begun. */
export class TestFailpoints implements Failpoints {
  /** What was begun, in order. */
  readonly reached: Place[] = [];
  private readonly failing = new Map<string, Error>();
  private readonly held = new Map<string, Promise<void>>();
  private readonly waiting = new Map<string, () => void>();
  private readonly releases: (() => void)[] = [];
  private abandoned = false;

  async reach(place: Place, moment: Moment): Promise<void> {
    if (moment === 'before') this.reached.push(place);
    const here = `${moment} ${place}`;
    this.waiting.get(here)?.();
    await this.held.get(here);
    // What a call takes back it takes back: this process goes on, and ends when nothing is open any more.
    const error = this.abandoned && !place.includes('/undo: ') ? new Error('killed') : this.failing.get(here);
    if (error !== undefined) throw error;
  }

  fail(place: Place, { error = new Error('failpoint'), moment = 'before' }: { error?: Error; moment?: Moment } = {}): void {
    this.failing.set(`${moment} ${place}`, error);
  }

  /** Holds a step until the returned function is called. */
  hold(place: Place, moment: Moment = 'before'): () => void {
    const here = `${moment} ${place}`;
    let release!: () => void;
    this.held.set(here, new Promise((resolve) => (release = resolve)));
    this.releases.push(release);
    return () => {
      this.held.delete(here);
      release();
    };
  }

  /** Holds a step; resolves when a call has come to it. */
  async holdUntilReached(place: Place, begin: () => void, moment: Moment = 'before'): Promise<() => void> {
    const release = this.hold(place, moment);
    const reached = new Promise<void>((resolve) => this.waiting.set(`${moment} ${place}`, resolve));
    begin();
    await reached;
    return release;
  }

  clear(): void {
    this.failing.clear();
  }

  /** Fails what is held and everything that follows. */
  abandon(): void {
    this.abandoned = true;
    for (const release of this.releases) release();
  }
}

/** criquet on a fake containerd and fake plugins: the real server, a real client, real sockets, FIFOs and files. */
export class Shim {
  readonly netns = new FakeNetnsProvider();
  failpoints = new TestFailpoints();
  /** What the daemon logged, at every level. */
  readonly logLines: string[] = [];
  readonly plugins: FakePluginRunner;
  readonly image: FakeImage;
  cri: CriConnection;
  private server: ShimServer | undefined;
  private readonly killed: { server: ShimServer; failpoints: TestFailpoints }[] = [];
  private readonly clients: { close(): void }[] = [];
  private compositions = 0;

  private constructor(
    readonly dir: string,
    readonly containerd: FakeContainerd,
    public config: CriquetConfig,
    plugins: Readonly<Record<string, FakePlugin>>,
    private readonly node: Pick<Replacements, 'nodeFacts' | 'nodeRoots' | 'xattrs' | 'criuProbe'>,
  ) {
    this.plugins = new FakePluginRunner(plugins);
    this.image = fakeImage({ config: { Cmd: ['/app'], Env: ['PATH=/bin', 'FROM=image'] }, files: { 'etc/passwd': PASSWD, 'etc/group': GROUP } });
    this.cri = connectCri({ endpoint: config.listen });
  }

  static async start(
    options: {
      readonly plugins?: Readonly<Record<string, FakePlugin>>;
      readonly change?: (config: CriquetConfig) => CriquetConfig;
      /** Default true: a network configuration is there. */
      readonly network?: boolean;
      /** What differs from the machine the test runs on. */
      readonly node?: Pick<Replacements, 'nodeFacts' | 'nodeRoots' | 'xattrs' | 'criuProbe'>;
      /** Changes the fake before the daemon starts. */
      readonly prepare?: (containerd: FakeContainerd) => void;
    } = {},
  ): Promise<Shim> {
    const dir = await mkdtemp(join(tmpdir(), 'criquet-shim-'));
    const containerd = await FakeContainerd.start({ dir: join(await made(dir, 'containerd')) });
    await symlink(containerd.address, join(dir, 'containerd-0.sock'));
    const base = defaultConfig();
    const config: CriquetConfig = {
      ...base,
      listen: `unix://${join(dir, 'criquet.sock')}`,
      stateDir: join(dir, 'state'),
      rootDir: join(dir, 'root'),
      containerd: { ...base.containerd, address: join(dir, 'containerd-0.sock'), callTimeout: 10_000 },
      cni: { ...base.cni, confDir: await made(dir, 'net.d'), binDirs: ['/fake'], cacheDir: join(dir, 'cni'), netnsDir: join(dir, 'netns'), addTimeout: 5_000, delTimeout: 5_000 },
      image: { ...base.image, hostsDir: join(dir, 'hosts') },
    };
    const shim = new Shim(dir, containerd, options.change?.(config) ?? config, options.plugins ?? { net: attaching('10.1.0.7/24', 'fd00::7/64') }, options.node ?? {});
    if (options.network !== false) await shim.writeNetwork();
    containerd.addImage(NAMESPACE, IMAGE, shim.image);
    options.prepare?.(containerd);
    try {
      await shim.serve();
    } catch (error) {
      await shim.close();
      throw error;
    }
    return shim;
  }

  async serve(): Promise<void> {
    this.server = await this.startServer(this.config);
  }

  /** One more daemon on the same node. */
  async startServer(config: CriquetConfig): Promise<ShimServer> {
    const { netns, plugins, failpoints, logLines } = this;
    const echo = process.env.CRIQUET_TEST_LOG !== undefined;
    const write = (line: string) => {
      logLines.push(line);
      if (echo) process.stderr.write(line);
    };
    return startShimServer({
      config,
      logger: pino({ level: 'trace' }, { write }),
      replacements: { netns, pluginRunner: plugins, failpoints, criuProbe: usableCriu, nodeRoots: { proc: '/proc', sys: join(this.dir, 'sys') }, ...this.node },
    });
  }

  /** Another client of the same containerd. */
  otherClient(): Containerd {
    const client = connectContainerd({ address: this.containerd.address, namespace: NAMESPACE });
    this.clients.push(client);
    return client;
  }

  /** Another connection to the CRI socket. */
  connect(): CriConnection {
    const cri = connectCri({ endpoint: this.config.listen });
    this.clients.push(cri);
    return cri;
  }

  async writeNetwork(plugins: readonly object[] = [{ type: 'net' }]): Promise<void> {
    await writeFile(join(this.config.cni.confDir, '10-test.conflist'), JSON.stringify({ cniVersion: '1.0.0', name: 'test', plugins }));
  }

  async stopServing(): Promise<void> {
    await this.server?.stop();
    this.server = undefined;
  }

  async restart(): Promise<void> {
    await this.stopServing();
    this.cri.close();
    this.cri = connectCri({ endpoint: this.config.listen });
    await this.serve();
  }

  /**
   * The daemon dies where it stands and another one is started: from here on the old one reaches containerd no more and what its
   * calls were about to do is not done.
   */
  async killAndRestart(): Promise<void> {
    if (this.server !== undefined) this.killed.push({ server: this.server, failpoints: this.failpoints });
    this.server = undefined;
    await rm(this.config.containerd.address);
    this.containerd.stop();
    await this.containerd.listen();
    await rm(join(this.config.stateDir, 'lock'));
    await rm(join(this.config.rootDir, 'lock'));
    await rm(`${this.config.containerd.address.replace('unix://', '')}.criquet-${NAMESPACE}.lock`);
    this.cri.close();
    this.failpoints = new TestFailpoints();
    this.compositions += 1;
    this.config = {
      ...this.config,
      listen: `unix://${join(this.dir, `criquet-${this.compositions}.sock`)}`,
      containerd: { ...this.config.containerd, address: join(this.dir, `containerd-${this.compositions}.sock`) },
    };
    await symlink(this.containerd.address, this.config.containerd.address);
    this.cri = connectCri({ endpoint: this.config.listen });
    await this.serve();
  }

  /** The node goes down and comes up again: no process is left, and nothing of what the state directory held. */
  async reboot(): Promise<void> {
    await this.stopServing();
    await this.endFifoKeeper();
    for (const id of [...this.containerd.state(NAMESPACE).tasks.keys()]) this.containerd.tasks.killShim(NAMESPACE, id);
    for (const mount of await this.mounts()) await unmount(mount);
    await rm(this.config.stateDir, { recursive: true });
    await this.restart();
  }

  async close(): Promise<void> {
    this.cri.close();
    for (const client of this.clients) client.close();
    await this.stopServing();
    for (const { server, failpoints } of this.killed) {
      failpoints.abandon();
      await server.stop();
    }
    await this.endFifoKeeper();
    await this.containerd.close();
    for (const mount of await this.mounts()) await unmount(mount);
    await rm(this.dir, { recursive: true, force: true });
  }

  /** What a shutdown leaves for the next start, which does not come. */
  private async endFifoKeeper(): Promise<void> {
    const pid = Number(await readFile(join(this.config.stateDir, 'fifo-keeper.pid'), 'utf8').catch(() => ''));
    if (pid > 1) process.kill(pid, 'SIGTERM');
  }

  /** What containers do, and the commands that run in them; pause processes wait for their signal. */
  run(program: FakeProgram): void {
    this.containerd.program = (process) =>
      process.spec.annotations?.['io.kubernetes.cri.container-type'] === 'sandbox' ? undefined : program(process);
  }

  sandboxConfig(change: DeepPartial<PodSandboxConfig> = {}): DeepPartial<PodSandboxConfig> {
    return {
      metadata: { name: 'pod', namespace: 'ns', uid: 'uid-1', attempt: 0 },
      hostname: 'pod',
      logDirectory: join(this.dir, 'logs'),
      labels: { 'io.kubernetes.pod.name': 'pod' },
      ...change,
    };
  }

  containerConfig(change: DeepPartial<ContainerConfig> = {}): DeepPartial<ContainerConfig> {
    return { metadata: { name: 'app', attempt: 0 }, image: { image: IMAGE }, logPath: 'app/0.log', ...change };
  }

  async runPod(change: DeepPartial<PodSandboxConfig> = {}): Promise<string> {
    return (await this.cri.runtime.runPodSandbox({ config: this.sandboxConfig(change) })).podSandboxId;
  }

  /** Its start comes behind the answer of RunPodSandbox. */
  async pauseRuns(podSandboxId: string): Promise<void> {
    await eventually(() => {
      if (this.containerd.process(NAMESPACE, podSandboxId).status !== RUNNING) throw new Error('the pause process does not run');
    });
  }

  async createContainer(podSandboxId: string, change: DeepPartial<ContainerConfig> = {}): Promise<string> {
    const request = { podSandboxId, config: this.containerConfig(change), sandboxConfig: this.sandboxConfig() };
    return (await this.cri.runtime.createContainer(request)).containerId;
  }

  async startContainer(podSandboxId: string, change: DeepPartial<ContainerConfig> = {}): Promise<string> {
    const containerId = await this.createContainer(podSandboxId, change);
    await this.cri.runtime.startContainer({ containerId });
    return containerId;
  }

  /** A container's log lines without their times. */
  async log(path = 'app/0.log'): Promise<string[]> {
    const text = await readFile(join(this.dir, 'logs', path), 'utf8');
    return text.replace(/\n$/, '').split('\n').map((line) => line.slice(line.indexOf(' ') + 1));
  }

  /** What lies in the directory of a container's FIFOs. */
  async ioFiles(containerId: string): Promise<string[]> {
    return (await readdir(join(this.config.stateDir, 'io', containerId))).sort();
  }

  private async mounts(): Promise<string[]> {
    const mounts = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n').map((line) => line.split(' ')[4] ?? '');
    return mounts.filter((mount) => mount.startsWith(this.dir));
  }

  /** Everything a pod can leave behind, in words; empty when nothing is left. */
  async leftovers(): Promise<string[]> {
    const state = this.containerd.state(NAMESPACE);
    const { stateDir, rootDir, cni } = this.config;
    const files = await Promise.all(
      [
        ...['sandboxes', 'io', 'lookup', 'image-volumes'].map((name) => join(stateDir, name)),
        ...['sandboxes', 'volumes', 'checkpoints'].map((name) => join(rootDir, name)),
        join(cni.cacheDir, 'results'),
      ].map(
        async (path) => (await readdir(path).catch((): string[] => [])).map((name) => `file ${path.slice(this.dir.length)}/${name}`),
      ),
    );
    const count = (command: string) => this.plugins.calls.filter((call) => call.command === command).length;
    return [
      ...[...state.containers.keys()].map((id) => `record ${id}`),
      ...[...state.sandboxes.keys()].map((id) => `sandbox ${id}`),
      ...[...state.tasks.keys()].map((id) => `task ${id}`),
      ...[...state.leases.keys()].map((id) => `lease ${id}`),
      ...[...state.snapshotsOf('overlayfs')].filter(([key]) => /^[0-9a-f]{64}(?:-|$)|^criquet-/.test(key)).map(([key]) => `snapshot ${key}`),
      ...[...this.netns.pins.keys()].map((path) => `netns ${path}`),
      ...(await this.mounts()).map((mount) => `mount ${mount}`),
      ...(count('DEL') < count('ADD') ? [`${count('ADD')} ADDs, ${count('DEL')} DELs`] : []),
      ...files.flat(),
    ];
  }
}

/** No process is spawned for it in component tests. */
const usableCriu: CriuProbe = () => Promise.resolve({ usable: true, path: '/fake/criu', version: '4.2' });

async function made(...parts: [string, ...string[]]): Promise<string> {
  const path = join(...parts);
  await mkdir(path, { recursive: true });
  return path;
}

/** A call to containerd that is about this container or sandbox and no other: the start of a pause process comes behind the answer of RunPodSandbox. */
export function about(containerId: string): (call: { readonly request: unknown }) => boolean {
  return ({ request }) => (request as { readonly containerId?: string }).containerId === containerId;
}

/** Waits until `check` does not throw any more. */
export async function eventually<T>(check: () => Promise<T> | T, ms = 5_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
