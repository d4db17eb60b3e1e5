import type { Cni } from '@criquet/network-cni';
import type { Containerd } from '@criquet/runtime-containerd';
import type { Logger } from 'pino';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { ContainerRemover } from '../container/container-remover.js';
import { NetworkConfigs } from '../runtime/network-configs.js';
import type { Layout } from '../state/layout.js';
import type { Failpoints } from '../steps/failpoints.js';
import { Steps } from '../steps/steps.js';
import { Token, type Containers, type NodeRoots, type Sandboxes } from '../tokens.js';
import { Audit } from './audit.js';
import { holdingSources } from './holding-sources.js';
import { OwnerLookup } from './owner-lookup.js';

/** What `criquet audit --clean` does, by the daemon itself after its start. */
@scoped(Lifecycle.ContainerScoped)
export class Leftovers {
  private readonly audit: Audit;

  constructor(
    @inject(Token.Config) config: CriquetConfig,
    @inject(Token.Containerd) containerd: Containerd,
    @inject(Token.Layout) layout: Layout,
    @inject(Token.Cni) cni: Cni,
    @inject(NetworkConfigs) networks: NetworkConfigs,
    @inject(Token.NodeRoots) roots: NodeRoots,
    @inject(Token.Sandboxes) sandboxes: Sandboxes,
    @inject(Token.Containers) containers: Containers,
    @inject(ContainerRemover) remover: ContainerRemover,
    @inject(Token.DaemonInstance) instance: string,
    @inject(Token.Failpoints) failpoints: Failpoints,
    @inject(Token.Logger) private readonly log: Logger,
  ) {
    const sources = holdingSources({
      config,
      containerd,
      layout,
      cni,
      networks: () => networks.all(),
      roots,
      // What this daemon holds it has just opened for a record that it found.
      daemonHoldings: () => Promise.resolve({ logs: [], streamTokens: [] }),
      removeContainer: (id, signal) => remover.remove(id, Steps.of('RemoveContainer', failpoints, log.child({ containerId: id })), signal),
      forget: () => Promise.resolve(),
    });
    this.audit = new Audit({
      sources,
      owners: new OwnerLookup(containerd),
      daemon: () => Promise.resolve({ pid: process.pid, startTime: '', instance }),
      known: (id) => sandboxes.get(id) !== undefined || containers.get(id) !== undefined,
    });
  }

  /** Removes what has no owner and says so; what cannot be removed is left to the next start or to `criquet audit`. */
  async clean(signal: AbortSignal): Promise<void> {
    const began = performance.now();
    const { holdings, problems } = await this.audit.run({ clean: true, signal });
    for (const { kind, name, owner, state, error } of holdings) {
      if (state === 'cleaned') this.log.info({ kind, name, owner }, 'removed what had no owner');
      if (state === 'failed') this.log.warn({ kind, name, owner, err: error }, 'what has no owner cannot be removed; see criquet audit');
    }
    for (const { kind, error } of problems) this.log.warn({ kind, err: error }, 'cannot be looked at; see criquet audit');
    this.log.debug({ holdings: holdings.length, ms: Math.round(performance.now() - began) }, 'looked for what has no owner');
  }
}
