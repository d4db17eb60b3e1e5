import { checkContainerd, connectContainerd, isUnavailable, type Containerd, type ContainerdReport } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { setTimeout as pause } from 'node:timers/promises';
import { composeRoot, type Replacements } from './composition-root.js';
import type { CriquetConfig } from './config/index.js';
import { ContainerIo } from './container/container-io.js';
import { ContainerWatch } from './container/container-watch.js';
import { CriServer } from './grpc/cri-server.js';
import { imageHandlers, runtimeHandlers } from './grpc/handlers.js';
import { ImageIndex } from './image/image-index.js';
import { DaemonLock } from './runtime/daemon-lock.js';
import { EventStream } from './runtime/event-stream.js';
import { OwedWork } from './runtime/owed-work.js';
import { Recovery } from './recovery/recovery.js';
import { SandboxWatch } from './sandbox/sandbox-watch.js';
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
    const lock = await DaemonLock.take(config.stateDir);
    undo.push(() => lock.release());
    const { address, namespace, callTimeout } = config.containerd;
    const containerd = connectContainerd({ address, namespace, defaultTimeoutMs: callTimeout });
    undo.push(() => containerd.close());
    const report = await whenAnswering(containerd, config);
    refuseCriPlugin(report, namespace);

    const root = await composeRoot({ config, logger, containerd, report, ...(replacements === undefined ? {} : { replacements }) });
    const network = root.resolve(Token.NetworkConfig);
    const netns = root.resolve(Token.Netns);
    undo.push(() => netns.close());
    await network.start();
    undo.push(() => network.close());

    const images = root.resolve(ImageIndex);
    const events = root.resolve(EventStream);
    events.start();
    undo.push(() => events.stop());
    const server = new CriServer(config.listen.replace(/^unix:\/\//, ''), runtimeHandlers(root), imageHandlers(root), logger);
    undo.push(() => root.resolve(ContainerIo).suspend());
    undo.push(() => {
      root.resolve(ContainerWatch).stop();
      root.resolve(SandboxWatch).stop();
      root.resolve(OwedWork).stop();
    });
    await Promise.all([images.load(), root.resolve(Recovery).run()]);
    const streams = root.resolve(Token.StreamServer);
    requireCertificate(config);
    await streams.open();
    undo.push(() => streams.close());
    await server.listen();
    undo.push(() => server.close(DRAIN_MS));
    logger.info({ listen: config.listen, streaming: streams.state, containerd: report.version, namespace }, 'serving');
    return { stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

function requireCertificate({ streaming }: CriquetConfig): void {
  const { enableTls, certFile, keyFile } = streaming;
  if (enableTls && (certFile === '' || keyFile === '')) {
    throw new Error('streaming.enable_tls needs streaming.cert_file and streaming.key_file');
  }
}

/** containerd may still be starting. */
async function whenAnswering(containerd: Containerd, config: CriquetConfig): Promise<ContainerdReport> {
  const end = Date.now() + config.containerd.connectTimeout;
  for (;;) {
    try {
      return await checkContainerd(containerd, { snapshotter: config.containerd.snapshotter }, { timeoutMs: 5_000 });
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > end) throw error;
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
