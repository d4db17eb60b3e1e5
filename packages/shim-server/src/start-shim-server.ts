import { checkContainerd, connectContainerd, isUnavailable, type Containerd, type ContainerdReport } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { setTimeout as pause } from 'node:timers/promises';
import { composeRoot, type Replacements } from './composition-root.js';
import { Upkeep } from './audit/upkeep.js';
import { CheckpointReadiness } from './checkpoint/checkpoint-readiness.js';
import type { CriquetConfig } from './config/index.js';
import { ContainerEvents } from './container/container-events.js';
import { ContainerIo } from './container/container-io.js';
import { ContainerWatch } from './container/container-watch.js';
import { CriServer, requireFreeSocket } from './grpc/cri-server.js';
import { toStatus } from './grpc/status.js';
import { imageHandlers, runtimeHandlers } from './grpc/handlers.js';
import { ImageIndex } from './image/image-index.js';
import { daemonLockFile, formatIdentity, newIdentity } from './runtime/daemon-identity.js';
import { DaemonLock } from './runtime/daemon-lock.js';
import { EventLoopDelay } from './runtime/event-loop-delay.js';
import { EventStream } from './runtime/event-stream.js';
import { FifoKeeper } from './runtime/fifo-keeper.js';
import { NetworkConfigs } from './runtime/network-configs.js';
import { OwedWork } from './runtime/owed-work.js';
import { Recovery } from './recovery/recovery.js';
import { PauseStart } from './sandbox/pause-start.js';
import { SandboxWatch } from './sandbox/sandbox-watch.js';
import { requireCertificate } from './streaming/certificate.js';
import { Token } from './tokens.js';

export interface ShimServerOptions {
  readonly config: CriquetConfig;
  readonly logger: Logger;
  readonly replacements?: Replacements;
}

export interface ShimServer {
  /** Drains calls, leaves containers running, removes the socket. At most 5 seconds. */
  stop(): Promise<void>;
}

/** How long a shutdown waits for calls under way; what follows it takes well below a second. */
const DRAIN_MS = 3_500;
const RETRY_MS = 200;

/**
 * Starts the daemon: checks containerd, recovers what is there, then serves CRI on `config.listen`.
 *
 * @throws ContainerdUnusable or Error saying what is missing or in the way; nothing is left running then
 */
export async function startShimServer({ config, logger, replacements }: ShimServerOptions): Promise<ShimServer> {
  const undo: (() => Promise<void> | void)[] = [];
  const stopAll = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    requireCertificate(config.streaming);
    await requireFreeSocket(socketPath(config.listen));
    const identity = await newIdentity();
    const stateLock = await DaemonLock.take(daemonLockFile(config.stateDir), `state_dir ${config.stateDir}: another criquet uses it`, formatIdentity(identity));
    undo.push(() => stateLock.release());
    if (config.rootDir !== config.stateDir) {
      const rootLock = await DaemonLock.take(daemonLockFile(config.rootDir), `root_dir ${config.rootDir}: another criquet uses it`);
      undo.push(() => rootLock.release());
    }
    const { address, namespace, callTimeout } = config.containerd;
    const containerd = connectContainerd({ address, namespace, defaultTimeoutMs: callTimeout });
    undo.push(() => containerd.close());
    const report = await whenAnswering(containerd, config);
    refuseCriPlugin(report, namespace);
    const namespaceLock = await DaemonLock.take(
      `${socketPath(address)}.criquet-${namespace}.lock`,
      `containerd at ${address}: another criquet serves its namespace ${namespace}; stop that one, or set containerd.namespace`,
    );
    undo.push(() => namespaceLock.release());

    const root = await composeRoot({ config, logger, containerd, report, instance: identity.instance, ...(replacements === undefined ? {} : { replacements }) });
    const eventLoop = root.resolve(EventLoopDelay);
    undo.push(() => eventLoop.close());
    const network = root.resolve(NetworkConfigs);
    const netns = root.resolve(Token.Netns);
    undo.push(() => netns.close());
    await network.start();
    undo.push(() => network.close());

    const images = root.resolve(ImageIndex);
    const events = root.resolve(EventStream);
    events.start();
    undo.push(() => events.stop());
    const server = new CriServer(socketPath(config.listen), runtimeHandlers(root), imageHandlers(root), logger, config.grpc.maxMessageSize);
    undo.push(async () => {
      const io = root.resolve(ContainerIo);
      await root.resolve(FifoKeeper).hold(io.openFifos());
      await io.suspend();
    });
    undo.push(() => {
      root.resolve(ContainerWatch).stop();
      root.resolve(SandboxWatch).stop();
      root.resolve(PauseStart).stop();
      root.resolve(OwedWork).stop();
    });
    void root.resolve(CheckpointReadiness).probe();
    await Promise.all([images.load(), root.resolve(Recovery).run()]);
    await root.resolve(FifoKeeper).release();
    const streams = root.resolve(Token.StreamServer);
    await streams.open();
    undo.push(() => streams.close());
    const revoke = (before?: { readonly id: string }, after?: object) => {
      if (before !== undefined && after === undefined) streams.revoke(before.id);
    };
    root.resolve(Token.Sandboxes).observe(revoke);
    root.resolve(Token.Containers).observe(revoke);
    undo.push(() => server.close(DRAIN_MS));
    // Its streams are calls under way that would last for ever.
    undo.push(() => root.resolve(ContainerEvents).stop());
    await server.listen();
    const upkeep = root.resolve(Upkeep);
    undo.push(() => upkeep.stop());
    upkeep.start();
    logger.info({ listen: config.listen, streaming: streams.state, containerd: report.version, namespace }, 'serving');
    return { stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

function socketPath(address: string): string {
  return address.replace(/^unix:\/\//, '');
}

/** containerd may still be starting. */
async function whenAnswering(containerd: Containerd, config: CriquetConfig): Promise<ContainerdReport> {
  const { address, connectTimeout, snapshotter } = config.containerd;
  const furtherSnapshotters = Object.values(config.runtime.handlers).flatMap((handler) => (handler.snapshotter === '' ? [] : [handler.snapshotter]));
  const end = performance.now() + connectTimeout;
  for (;;) {
    try {
      return await checkContainerd(containerd, { snapshotter, furtherSnapshotters }, { timeoutMs: 5_000 });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (performance.now() > end) {
        const { message } = toStatus(error);
        throw new Error(`containerd.address ${address}: nobody answered within ${connectTimeout / 1000} s: ${message}`, { cause: error });
      }
      await pause(RETRY_MS);
    }
  }
}

/** containerd's own CRI plugin adopts what it finds in the namespace k8s.io, and would remove or restart what is criquet's. */
function refuseCriPlugin(report: ContainerdReport, namespace: string): void {
  if (report.criPlugin !== 'loaded' || namespace !== 'k8s.io') return;
  throw new Error(
    "containerd's CRI plugin is on and uses the namespace k8s.io as well: turn it off (disabled_plugins = " +
      '["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"] in containerd\'s configuration), ' +
      'or set containerd.namespace in the configuration of criquet to another one',
  );
}
