import { Protocol } from '@criquet/cri-api';
import {
  capabilityArgs,
  kubernetesCniArgs,
  podIps,
  type Attachment,
  type Cni,
  type NetnsProvider,
  type NetworkConfigList,
} from '@criquet/network-cni';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition, invalidArgument, ShimError } from '../errors.js';
import { status } from '@grpc/grpc-js';
import { NetworkConfigs } from '../runtime/network-configs.js';
import type { RuntimeHandler } from '../runtime/runtime-handlers.js';
import { detachCached } from './detach-cached.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { shownCniResult, type ShownCniResult } from './shown-cni-result.js';
import { Token } from '../tokens.js';

/** The interface of a pod's first network; further networks are net1, net2 … */
export const interfaceName = (index: number): string => (index === 0 ? 'eth0' : `net${index}`);

/** Attaches pods to the networks that the CNI configuration directory names, and detaches them. */
@scoped(Lifecycle.ContainerScoped)
export class PodNetwork {
  constructor(
    @inject(Token.Cni) private readonly cni: Cni,
    @inject(NetworkConfigs) private readonly configs: NetworkConfigs,
    @inject(Token.Netns) private readonly netns: NetnsProvider,
    @inject(Token.Config) private readonly settings: CriquetConfig,
  ) {}

  /** The networks that a new pod of a handler is attached to. @throws UNAVAILABLE while there is no usable configuration */
  networks(handler: RuntimeHandler): readonly NetworkConfigList[] {
    const state = this.configs.of(handler.name);
    if (state.error !== undefined) {
      throw new ShimError(status.UNAVAILABLE, `no pod network: ${state.error.message}`, { cause: state.error });
    }
    return state.lists;
  }

  /**
   * ADD on every network, one after the other.
   * @returns the pod's addresses on the first network, the primary one first.
   */
  async attach(sandbox: SandboxRecord, networks: readonly NetworkConfigList[], signal?: AbortSignal): Promise<string[]> {
    let ips: string[] | undefined;
    for (const [index, network] of networks.entries()) {
      const attachment = this.attachment(sandbox, index);
      const result = await this.cni.add(network, attachment, {
        timeoutMs: this.settings.cni.addTimeout,
        ...(signal === undefined ? {} : { signal }),
      });
      ips ??= podIps(result, attachment.ifName);
    }
    if (ips === undefined || ips.length === 0) {
      throw failedPrecondition(`network ${networks[0]?.name ?? ''} gave the pod no address`);
    }
    return ips;
  }

  /**
   * DEL on every network that ADD was tried on, by the configuration that ADD used, also when that configuration, the network
   * namespace or the daemon that made it is gone. A pod that had an address and is not in the cache any more is detached from
   * what its handler's networks are today: its cache was lost, the address still is reserved.
   */
  async detach(sandbox: SandboxRecord, signal?: AbortSignal): Promise<void> {
    const { delTimeout: timeoutMs } = this.settings.cni;
    await this.cni.removeUnfinished(sandbox.id, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
    const attached = await this.cni.cachedAttachments({ containerId: sandbox.id });
    const netns = (await this.netns.exists(sandbox.netnsPath)) ? sandbox.netnsPath : '';
    for (const cached of attached.reverse()) {
      // Its name tells no arguments; the record does.
      const whole = cached.list === undefined ? { ...cached, attachment: { ...cached.attachment, ...this.argumentsOf(sandbox) } } : cached;
      await detachCached(this.cni, whole, { netns, timeoutMs, configured: this.configs.all(), signal });
    }
    if (attached.length > 0 || sandbox.ips.length === 0) return;
    const { lists = [] } = this.configs.of(sandbox.handler);
    for (const [index, list] of [...lists.entries()].reverse()) {
      await this.cni.del(list, { ...this.attachment(sandbox, index), netns }, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
    }
  }

  /** What CNI answered for the pod; null when it has no network of its own, or none any more. */
  async shownResult(sandbox: SandboxRecord): Promise<ShownCniResult | null> {
    if (!sandbox.networkAttached) return null;
    const attached = await this.cni.cachedAttachments({ containerId: sandbox.id });
    const ordered = [...attached].sort((a, b) => (a.attachment.ifName < b.attachment.ifName ? -1 : 1));
    return shownCniResult(ordered.flatMap(({ attachment, result }) => (result === undefined ? [] : [[attachment.ifName, result] as const])));
  }

  /** Checks what the pod asks of its network. @throws INVALID_ARGUMENT naming what cannot be passed on */
  validate(sandbox: SandboxRecord): void {
    try {
      this.attachment(sandbox, 0);
    } catch (error) {
      throw invalidArgument('config', (error as Error).message);
    }
  }

  private attachment(sandbox: SandboxRecord, index: number): Attachment {
    return { containerId: sandbox.id, netns: sandbox.netnsPath, ifName: interfaceName(index), ...this.argumentsOf(sandbox) };
  }

  private argumentsOf(sandbox: SandboxRecord): Pick<Attachment, 'args' | 'capabilityArgs'> {
    const { config } = sandbox;
    const dns = config.dnsConfig;
    return {
      args: kubernetesCniArgs({
        namespace: config.metadata?.namespace ?? '',
        name: config.metadata?.name ?? '',
        uid: config.metadata?.uid ?? '',
        sandboxId: sandbox.id,
      }),
      capabilityArgs: capabilityArgs({
        portMappings: config.portMappings.map((mapping) => ({
          hostPort: mapping.hostPort,
          containerPort: mapping.containerPort,
          protocol: Protocol[mapping.protocol] ?? 'TCP',
          hostIp: mapping.hostIp,
        })),
        podAnnotations: config.annotations,
        ...(dns === undefined ? {} : { dns }),
        ...(config.linux?.cgroupParent ? { cgroupPath: config.linux.cgroupParent } : {}),
      }),
    };
  }
}
