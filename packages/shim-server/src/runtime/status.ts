import { isUnavailable, type Containerd, type ContainerdReport } from '@criquet/runtime-containerd';
import type { Cni, ConfigState } from '@criquet/network-cni';
import type { RuntimeCondition, RuntimeFeatures, RuntimeHandlerFeatures, StatusRequest, StatusResponse } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { CheckpointReadiness } from '../checkpoint/checkpoint-readiness.js';
import type { DaemonHoldings } from '../audit/audited-node.js';
import type { CriquetConfig } from '../config/index.js';
import { ContainerIo } from '../container/container-io.js';
import type { UnaryCall } from '../grpc/call-context.js';
import { toStatus } from '../grpc/status.js';
import { verboseJson } from '../grpc/verbose-json.js';
import type { NodeFacts } from '../spec/index.js';
import type { StreamServer } from '../streaming/index.js';
import { Token } from '../tokens.js';
import { usernsObstacle } from '../userns/userns-support.js';
import { EventLoopDelay } from './event-loop-delay.js';
import { NetworkConfigs } from './network-configs.js';
import { RuntimeHandlers, type RuntimeHandler } from './runtime-handlers.js';
import { shownNetworkConfig } from './shown-network-config.js';

/** How long containerd may take to say that it is there. */
const PROBE_MS = 2_000;

/** What criquet itself can do, whatever the handler. */
const RUNTIME_FEATURES: RuntimeFeatures = {
  supplementalGroupsPolicy: true,
  userNamespacesHostNetwork: true,
  mountOptions: true,
};

/** CRI Status: whether containerd answers and whether pods can get a network. */
@scoped(Lifecycle.ContainerScoped)
export class RuntimeStatus {
  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.ContainerdReport) private readonly report: ContainerdReport,
    @inject(Token.Cni) private readonly cni: Cni,
    @inject(NetworkConfigs) private readonly networks: NetworkConfigs,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(RuntimeHandlers) private readonly handlers: RuntimeHandlers,
    @inject(Token.StreamServer) private readonly streams: StreamServer,
    @inject(CheckpointReadiness) private readonly checkpoints: CheckpointReadiness,
    @inject(ContainerIo) private readonly io: ContainerIo,
    @inject(EventLoopDelay) private readonly eventLoop: EventLoopDelay,
  ) {}

  readonly handle: UnaryCall<StatusRequest, StatusResponse> = async ({ verbose }) => {
    const conditions = await Promise.all([this.runtimeReady(), this.networkReady()]);
    return {
      status: { conditions: [...conditions, this.checkpoints.condition(), ...this.streamingLost()] },
      info: verbose ? this.info() : {},
      runtimeHandlers: this.handlers.listed().map(({ name, handler }) => ({ name, features: this.handlerFeatures(handler) })),
      features: RUNTIME_FEATURES,
    };
  };

  private async runtimeReady(): Promise<RuntimeCondition> {
    try {
      await this.containerd.version.get({ timeoutMs: PROBE_MS });
      return ready('RuntimeReady');
    } catch (error) {
      const reason = isUnavailable(error) ? 'ContainerdUnavailable' : 'ContainerdNotAnswering';
      return notReady('RuntimeReady', reason, toStatus(error).message);
    }
  }

  private async networkReady(): Promise<RuntimeCondition> {
    const state = this.networks.node.current();
    if (state.error !== undefined) return notReady('NetworkReady', 'NetworkPluginNotReady', state.error.message);
    try {
      await this.cni.status(state.list, { timeoutMs: this.config.cni.statusTimeout });
      return ready('NetworkReady');
    } catch (error) {
      return notReady('NetworkReady', 'NetworkPluginNotReady', toStatus(error).message);
    }
  }

  /** Said only while exec, attach and port-forward do not work: it is no condition that the kubelet asks for. */
  private streamingLost(): RuntimeCondition[] {
    const { listening, address, port, error = '' } = this.streams.state;
    return listening ? [] : [notReady('StreamingReady', 'ListenerLost', `${address} port ${port}: ${error}`)];
  }

  /** CRI means by user namespaces those of Kubernetes, whose root file systems and volumes are mounted with ids mapped. */
  private handlerFeatures(handler: RuntimeHandler): RuntimeHandlerFeatures {
    const { recursiveReadOnlyMounts } = handler.features;
    return { recursiveReadOnlyMounts, userNamespaces: usernsObstacle(handler, this.report) === undefined };
  }

  private shownHandler(name: string): object {
    const { runtime, features, cgroupDriver, snapshotter } = this.handlers.require(name);
    return { runtimeType: runtime.name, features, cgroupDriver, snapshotter };
  }

  private info(): Record<string, string> {
    const state = this.networks.node.current();
    return {
      config: verboseJson(this.config),
      containerd: verboseJson({
        version: this.report.version,
        uuid: this.report.server.uuid,
        namespace: this.containerd.namespace,
        snapshotter: this.report.snapshotter,
        snapshotters: [...this.report.snapshotters.values()],
      }),
      cniconfig: verboseJson(shownNetworkConfig(this.config.cni, state)),
      lastCNILoadStatus: loadStatus(state),
      'lastCNILoadStatus.default': loadStatus(state),
      ...Object.fromEntries([...this.networks.ofHandlers()].map(([name, own]) => [`lastCNILoadStatus.${name}`, loadStatus(own)])),
      streaming: verboseJson(this.streams.state),
      // Not `runtimeHandlers`: crictl would show it in the place of the reply's own field.
      handlers: verboseJson(Object.fromEntries(this.handlers.names().map((name) => [name, this.shownHandler(name)]))),
      checkpoint: verboseJson(this.checkpoints.info()),
      // What `criquet audit` cannot see from outside.
      holdings: JSON.stringify({ logs: this.io.openLogs(), streamTokens: this.streams.waiting() } satisfies DaemonHoldings),
      // Milliseconds since the last verbose reply.
      eventLoopDelay: verboseJson(this.eventLoop.read()),
      node: verboseJson(this.node),
    };
  }
}

/** A JSON text as all of them; crictl shows it as containerd's plugin says it. */
function loadStatus({ error }: ConfigState): string {
  return JSON.stringify(error === undefined ? 'OK' : error.message);
}

function ready(type: string): RuntimeCondition {
  return { type, status: true, reason: '', message: '' };
}

function notReady(type: string, reason: string, message: string): RuntimeCondition {
  return { type, status: false, reason, message };
}
