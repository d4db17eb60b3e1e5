import type { Cni, NetworkConfigList, ValidAttachment } from '@criquet/network-cni';
import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { NetworkConfigs } from '../runtime/network-configs.js';
import { interfaceName } from '../sandbox/pod-network.js';
import type { Layout } from '../state/layout.js';
import { Token, type Sandboxes } from '../tokens.js';
import { attachmentsOnNode, isOwnAttachment } from './cni-claims.js';
import { readReservations } from './kinds/ipam-reservations.js';
import { OwnerLookup } from './owner-lookup.js';
import { runtimeStateIds } from './runtime-states.js';

/** For one network, waiting for a moment without ADD and DEL included: those that come while plugins run GC wait for it. */
const GC_MS = 30_000;

/**
 * CNI GC: tells the plugins of every configured network which attachments exist, so that they free what belongs to none (SPEC.md section 2, "GC").
 *
 * What others have on a network counts as existing: every attachment in a cache of the node that is not certainly criquet's, and every address whose
 * container some namespace of containerd or some OCI runtime knows.
 */
@scoped(Lifecycle.ContainerScoped)
export class NetworkGc {
  private readonly owners: OwnerLookup;

  constructor(
    @inject(Token.Config) readonly config: CriquetConfig,
    @inject(Token.Containerd) containerd: Containerd,
    @inject(Token.Layout) readonly layout: Layout,
    @inject(Token.Cni) readonly cni: Cni,
    @inject(NetworkConfigs) private readonly networks: NetworkConfigs,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
    @inject(Token.Logger) private readonly log: Logger,
  ) {
    this.owners = new OwnerLookup(containerd);
  }

  /** One network that fails does not keep the others; it is tried again at the next time. */
  async run(signal: AbortSignal): Promise<void> {
    const lists = this.networks.all();
    for (const list of lists) {
      try {
        const others = await this.others(list, signal);
        await this.cni.gc(list, async () => [...others, ...(await this.own(list, lists.length))], { timeoutMs: GC_MS, signal });
        this.log.debug({ network: list.name }, 'CNI GC done');
      } catch (error) {
        signal.throwIfAborted();
        this.log.warn({ network: list.name, err: (error as Error).message }, 'CNI GC failed, to be tried again');
      }
    }
  }

  /** Of every sandbox that is not gone, whether its ADD succeeded or not. */
  private async own({ name }: NetworkConfigList, networks: number): Promise<ValidAttachment[]> {
    const attached = this.sandboxes.all().filter((sandbox) => sandbox.networkAttached);
    const cached = await this.cni.cachedAttachments();
    return attached.flatMap(({ id: containerId }) => {
      const interfaces = new Set(cached.filter(({ networkName, attachment }) => networkName === name && attachment.containerId === containerId).map(({ attachment }) => attachment.ifName));
      // Its cache file may be lost or damaged.
      if (interfaces.size === 0) for (let index = 0; index < networks; index += 1) interfaces.add(interfaceName(index));
      return [...interfaces].map((ifName) => ({ containerId, ifName }));
    });
  }

  private async others(list: NetworkConfigList, signal: AbortSignal): Promise<ValidAttachment[]> {
    const [attachments, reservations, states] = await Promise.all([attachmentsOnNode(this), readReservations([list]), runtimeStateIds(this.config)]);
    const foreign = attachments.filter((cached) => cached.networkName === list.name && !(this.layout.ownsNetnsDir && isOwnAttachment(cached, this)));
    const unknown = reservations.filter(({ containerId }) => this.sandboxes.get(containerId) === undefined);
    const standings = await this.owners.standings(unknown.map(({ containerId }) => containerId), signal);
    const claimed = unknown.filter(({ containerId }) => standings.get(containerId) !== 'nobody' || states.has(containerId));
    return [...foreign.map(({ attachment }) => attachment), ...claimed].map(({ containerId, ifName }) => ({ containerId, ifName }));
  }
}
