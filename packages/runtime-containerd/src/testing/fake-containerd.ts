import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server } from '@grpc/grpc-js';
import { ContainersService } from '../gen/services/containers/v1/containers.js';
import { ContentService } from '../gen/services/content/v1/content.js';
import { DiffService } from '../gen/services/diff/v1/diff.js';
import { EventsService } from '../gen/services/events/v1/events.js';
import { ImagesService } from '../gen/services/images/v1/images.js';
import { IntrospectionService } from '../gen/services/introspection/v1/introspection.js';
import { LeasesService } from '../gen/services/leases/v1/leases.js';
import { NamespacesService } from '../gen/services/namespaces/v1/namespace.js';
import { StoreService } from '../gen/services/sandbox/v1/sandbox.js';
import { SnapshotsService } from '../gen/services/snapshots/v1/snapshots.js';
import { StreamingService } from '../gen/services/streaming/v1/streaming.js';
import { TasksService } from '../gen/services/tasks/v1/tasks.js';
import { TransferService } from '../gen/services/transfer/v1/transfer.js';
import { VersionService } from '../gen/services/version/v1/version.js';
import type { RuntimeFeatures } from '../oci/runtime-features.js';
import { CallControl } from './call-control.js';
import { containerHandlers } from './containers.js';
import { contentHandlers, storeBlob } from './content.js';
import { diffHandlers } from './diff.js';
import { EventExchange, eventHandlers } from './events.js';
import { fakeImageRecord, type FakeImage } from './fake-image.js';
import type { FakeProcess, FakeProgram } from './fake-process.js';
import { FakeRegistry } from './fake-registry.js';
import { StreamRegistry } from './fake-streaming.js';
import type { FakeTask } from './fake-task.js';
import { collectGarbage } from './garbage.js';
import { imageHandlers, storeImage } from './images.js';
import { defaultPlugins, defaultRuntimeFeatures, introspectionHandlers, type FakePlugin } from './introspection.js';
import { leaseHandlers } from './leases.js';
import { listen, type Listener } from './listener.js';
import { namespaceHandlers } from './namespaces.js';
import { NamespaceState } from './namespace-state.js';
import { sandboxHandlers } from './sandboxes.js';
import { serve } from './serve.js';
import { SnapshotStore, snapshotHandlers } from './snapshots.js';
import { TaskService } from './tasks.js';
import { transferHandlers, unpack } from './transfer.js';

export interface FakeContainerdOptions {
  /** Default `2.1.9`. */
  readonly version?: string;
  /** What every started process does; `FakeContainerd.program` changes it. Default: a container runs until it is killed, an exec exits 0. */
  readonly program?: FakeProgram;
  /** Where its socket (keep it short: a socket's path has at most 107 bytes) and snapshots live. Default: a new directory below the system's for temporary files, removed by `close`. */
  readonly dir?: string;
}

/**
 * containerd at the wire, in this process: a gRPC server on a unix socket whose containers, tasks, images and content are objects
 * in memory and whose snapshots are plain directories. Processes are functions (`program`) that write to the real FIFOs.
 */
export class FakeContainerd {
  version: string;
  /** Tells it from others; it does not change. */
  uuid = randomUUID();
  program: FakeProgram;
  plugins: FakePlugin[];
  /** Snapshotters that the transfer plugin is configured to unpack for. */
  unpackSnapshotters: string[] = ['overlayfs', 'native'];
  /** OCI runtimes that the runc shim finds, by name or path, and what their `features` command tells; `undefined`: it has none. */
  readonly ociRuntimes = new Map<string, RuntimeFeatures | undefined>([['runc', defaultRuntimeFeatures()]]);
  /** Failures, delays, hangs, and the record of calls. */
  readonly control = new CallControl();
  readonly registry = new FakeRegistry();
  readonly events = new EventExchange();
  readonly tasks: TaskService;
  private readonly states = new Map<string, NamespaceState>();
  readonly streams = new StreamRegistry();
  private readonly snapshots: SnapshotStore;
  private listener: Listener | undefined;

  private constructor(
    readonly dir: string,
    private readonly ownsDir: boolean,
    options: FakeContainerdOptions,
  ) {
    this.version = options.version ?? '2.1.9';
    this.program = options.program ?? runUntilKilled;
    this.plugins = defaultPlugins(join(dir, 'root'));
    const snapshotters = () => this.plugins.filter(({ type }) => type === 'io.containerd.snapshotter.v1').map(({ id }) => id);
    this.snapshots = new SnapshotStore(join(dir, 'snapshots'), snapshotters);
    this.tasks = new TaskService((name) => this.state(name), this.events, () => this.program);
  }

  /** Starts one on a socket of its own. */
  static async start(options: FakeContainerdOptions = {}): Promise<FakeContainerd> {
    const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'fake-containerd-')));
    const fake = new FakeContainerd(dir, options.dir === undefined, options);
    await fake.listen();
    return fake;
  }

  /** For `connectContainerd`. */
  get address(): string {
    return join(this.dir, 'containerd.sock');
  }

  /** What it keeps in a namespace. */
  state(namespace: string): NamespaceState {
    const known = this.states.get(namespace);
    if (known !== undefined) return known;
    const created = new NamespaceState(namespace);
    this.states.set(namespace, created);
    return created;
  }

  /** @throws FakeStatus NOT_FOUND */
  task(namespace: string, containerId: string): FakeTask {
    return this.tasks.find(namespace, containerId);
  }

  /** The first process of a container, or an exec process. @throws FakeStatus NOT_FOUND */
  process(namespace: string, containerId: string, execId = ''): FakeProcess {
    return this.task(namespace, containerId).process(execId);
  }

  /** Puts an image there as if it had been pulled: content, snapshot, record and event. */
  addImage(namespace: string, name: string, image: FakeImage, options: { readonly snapshotter?: string; readonly labels?: Record<string, string> } = {}): void {
    const state = this.state(namespace);
    for (const { data, labels } of image.blobs) storeBlob(state, '', data, labels);
    unpack(this.snapshots, state, '', options.snapshotter ?? 'overlayfs', image);
    const { target } = fakeImageRecord(name, image);
    const wireTarget = { ...target, annotations: { ...target.annotations } };
    storeImage(state, this.events, { name, labels: options.labels ?? {}, target: wireTarget, createdAt: undefined, updatedAt: undefined });
  }

  /** Runs garbage collection now; it runs by itself when an image, a lease or a container is deleted. */
  collectGarbage(namespace: string): void {
    collectGarbage(this.state(namespace));
  }

  /** Closes the socket and drops every connection, as a crash of containerd does. Processes go on. */
  stop(): void {
    this.listener?.crash();
    this.listener = undefined;
  }

  /** Serves again after `stop`, with everything that was there. */
  async listen(): Promise<void> {
    this.listener = await listen(this.address, this.createServer());
  }

  /** Ends the server and all processes, and removes its files. */
  async close(): Promise<void> {
    this.stop();
    for (const { tasks } of this.states.values()) {
      for (const { init, execs } of tasks.values()) for (const process of [...execs.values(), init]) process.lost();
    }
    await rm(this.ownsDir ? this.dir : join(this.dir, 'snapshots'), { recursive: true, force: true });
    await rm(this.address, { force: true });
  }

  private createServer(): Server {
    const { control, events, snapshots, registry, streams } = this;
    const stateOf = (name: string) => this.state(name);
    const server = new Server({ 'grpc.max_receive_message_length': 16 * 1024 * 1024, 'grpc.max_send_message_length': 16 * 1024 * 1024 });
    serve(server, control, 'version', VersionService, { version: () => ({ version: this.version, revision: 'fake' }) });
    serve(server, control, 'introspection', IntrospectionService, introspectionHandlers(() => this.plugins, this.ociRuntimes, () => this.uuid));
    serve(server, control, 'namespaces', NamespacesService, namespaceHandlers(this.states));
    serve(server, control, 'leases', LeasesService, leaseHandlers(stateOf, collectGarbage));
    serve(server, control, 'content', ContentService, contentHandlers(stateOf));
    serve(server, control, 'snapshots', SnapshotsService, snapshotHandlers(stateOf, snapshots));
    serve(server, control, 'images', ImagesService, imageHandlers(stateOf, events, collectGarbage));
    serve(server, control, 'containers', ContainersService, containerHandlers(stateOf, events, collectGarbage));
    serve(server, control, 'sandboxes', StoreService, sandboxHandlers(stateOf));
    serve(server, control, 'tasks', TasksService, this.tasks.handlers());
    serve(server, control, 'events', EventsService, eventHandlers(events));
    serve(server, control, 'streaming', StreamingService, streams.handlers());
    const unpackSnapshotters = () => this.unpackSnapshotters;
    serve(server, control, 'transfer', TransferService, transferHandlers({ stateOf, streams, registry, snapshots, events, unpackSnapshotters }));
    serve(server, control, 'diff', DiffService, diffHandlers(stateOf));
    return server;
  }
}

function runUntilKilled(process: FakeProcess): void {
  if (process.execId !== '') process.exit(0);
}
