import 'reflect-metadata';
import { join } from 'node:path';
import { Cni, ConfigDirectory, NetnsThread, type NetnsProvider, type PluginRunner } from '@criquet/network-cni';
import type { Containerd, ContainerdReport } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { container, instanceCachingFactory, type DependencyContainer } from 'tsyringe';
import { AppArmorProfiles } from './apparmor/index.js';
import { CdiDirectories } from './cdi/index.js';
import { probeCriu, type CriuProbe } from './checkpoint/criu-probe.js';
import type { CriquetConfig } from './config/index.js';
import { AttachStream } from './container/attach-stream.js';
import { ExecStream } from './container/exec-stream.js';
import { layOutPauseRoot } from './pause/pause-root.js';
import { cgroupDriver } from './runtime/cgroup-driver.js';
import { hasMountSetattr } from './runtime/mount-setattr.js';
import { NetworkConfigs } from './runtime/network-configs.js';
import { RuntimeHandlers } from './runtime/runtime-handlers.js';
import { relabel } from './runtime/relabel.js';
import { kernelXattrs, type Xattrs } from './runtime/xattrs.js';
import { PortForwardStream } from './sandbox/port-forward-stream.js';
import { readNodeFacts, type NodeFacts } from './spec/index.js';
import { containerCodec } from './state/container-record.js';
import { Layout } from './state/layout.js';
import { RecordStore } from './state/record-store.js';
import { sandboxCodec } from './state/sandbox-record.js';
import { noFailpoints, type Failpoints } from './steps/failpoints.js';
import { StreamServer, type StreamRuntime } from './streaming/index.js';
import { Token, type NodeRoots } from './tokens.js';
import { layOutUsernsChild } from './userns/userns-child.js';

/** What a test may put in the place of the real thing. */
export interface Replacements {
  readonly netns?: NetnsProvider;
  readonly pluginRunner?: PluginRunner;
  readonly failpoints?: Failpoints;
  /** What of the node differs from the machine the test runs on. */
  readonly nodeFacts?: Partial<NodeFacts>;
  readonly nodeRoots?: NodeRoots;
  readonly xattrs?: Xattrs;
  readonly criuProbe?: CriuProbe;
}

export interface Foundation {
  readonly config: CriquetConfig;
  readonly logger: Logger;
  readonly containerd: Containerd;
  readonly report: ContainerdReport;
  /** This daemon's own, new with every start. */
  readonly instance: string;
  readonly replacements?: Replacements;
}

/** The one place where objects are wired together. */
export async function composeRoot({ config, logger, containerd, report, instance, replacements = {} }: Foundation): Promise<DependencyContainer> {
  const root = container.createChildContainer();
  const { cni } = config;
  const layout = Layout.of(config);
  const writeFailed = (noun: string) => (id: string, error: unknown) =>
    logger.warn({ [`${noun}Id`]: id, err: (error as Error).message }, 'record could not be written; it is written with its next change');

  root.register(Token.Config, { useValue: config });
  root.register(Token.Logger, { useValue: logger });
  root.register(Token.Containerd, { useValue: containerd });
  root.register(Token.ContainerdReport, { useValue: report });
  root.register(Token.Layout, { useValue: layout });
  root.register(Token.DaemonInstance, { useValue: instance });
  const xattrs = replacements.xattrs ?? kernelXattrs;
  root.register(Token.Xattrs, { useValue: xattrs });
  root.register(Token.Failpoints, { useValue: replacements.failpoints ?? noFailpoints });
  const found = await readNodeFacts({ cgroupDriver: await cgroupDriver(config), mountSetattr: hasMountSetattr() });
  const node = { ...found, ...replacements.nodeFacts };
  root.register(Token.NodeFacts, { useValue: node });
  root.register(RuntimeHandlers, { useValue: await RuntimeHandlers.load(config, node, containerd, logger) });
  const roots = replacements.nodeRoots ?? { proc: '/proc', sys: '/sys' };
  root.register(Token.NodeRoots, { useValue: roots });
  root.register(Token.CriuProbe, { useValue: replacements.criuProbe ?? (() => probeCriu(containerd.introspection)) });
  const { disableApparmor, apparmorParser } = config.security;
  root.register(Token.AppArmorProfiles, {
    useValue: new AppArmorProfiles({ enabled: node.apparmorEnabled && !disableApparmor, parser: apparmorParser, sys: roots.sys }),
  });
  root.register(Token.CdiDirectories, {
    useValue: new CdiDirectories(config.devices.cdiSpecDirs, (file, problem) => logger.warn({ file, problem }, 'CDI specification not used')),
  });
  const pauseRoot = await layOutPauseRoot(layout);
  if (node.selinuxContexts !== undefined) await relabel(pauseRoot, node.selinuxContexts.readOnlyFile, xattrs);
  root.register(Token.PauseRoot, { useValue: pauseRoot });
  root.register(Token.PauseProgram, { useValue: join(pauseRoot, 'pause') });
  root.register(Token.Netns, { useValue: replacements.netns ?? (await netnsThread(layout)) });
  const networkConfig = new ConfigDirectory({ dir: cni.confDir, maxLists: cni.maxConfNum });
  root.register(Token.NetworkConfig, { useValue: networkConfig });
  root.register(NetworkConfigs, { useValue: new NetworkConfigs(networkConfig, config) });
  root.register(Token.Cni, {
    useValue: new Cni({
      binDirs: cni.binDirs,
      cacheDir: cni.cacheDir,
      ...(replacements.pluginRunner === undefined ? {} : { runner: replacements.pluginRunner }),
    }),
  });
  root.register(Token.Sandboxes, {
    useValue: new RecordStore(containerd.containers, sandboxCodec, 'sandbox', writeFailed('podSandbox')),
  });
  root.register(Token.Containers, {
    useValue: new RecordStore(containerd.containers, containerCodec, 'container', writeFailed('container')),
  });
  root.register(Token.StreamServer, {
    useFactory: instanceCachingFactory((resolver) => streamServer(config, streamRuntime(resolver), logger)),
  });
  return root;
}

async function netnsThread(layout: Layout): Promise<NetnsThread> {
  const usernsChild = await layOutUsernsChild(layout);
  return new NetnsThread(usernsChild === undefined ? {} : { usernsChild });
}

function streamRuntime(resolver: DependencyContainer): StreamRuntime {
  const [exec, attach, portForward] = [resolver.resolve(ExecStream), resolver.resolve(AttachStream), resolver.resolve(PortForwardStream)];
  return {
    exec: (...args) => exec.run(...args),
    attach: (...args) => attach.run(...args),
    portForward: (...args) => portForward.run(...args),
  };
}

function streamServer({ streaming }: CriquetConfig, runtime: StreamRuntime, log: Logger): StreamServer {
  const { address, port, enableTls, certFile, keyFile } = streaming;
  return new StreamServer({
    address,
    port,
    ...(enableTls ? { tls: { certFile, keyFile } } : {}),
    idleTimeoutMs: streaming.idleTimeout,
    tokenTtlMs: streaming.tokenTtl,
    tokenLimit: streaming.tokenLimit,
    maxStreams: streaming.maxStreams,
    creationTimeoutMs: streaming.streamCreationTimeout,
    runtime,
    log,
  });
}
