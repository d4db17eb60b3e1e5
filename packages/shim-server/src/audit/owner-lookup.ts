import { isNotFound, type CallOptions, type Containerd, type ContainerRecord } from '@criquet/runtime-containerd';
import { containerCodec } from '../state/container-record.js';
import { LEFTOVER_LABEL } from '../state/owner-labels.js';
import { sandboxCodec } from '../state/sandbox-record.js';
import { Slots } from '../state/slots.js';

/** Whose an id is: a sandbox or container of criquet, a container of somebody else in any namespace of this containerd, or nobody's. */
export type Standing = 'criquet' | 'others' | 'nobody';

const CALLS_AT_ONCE = 16;

/** Asks containerd itself, and not an index over it, whose ids are. */
export class OwnerLookup {
  private readonly slots = new Slots(CALLS_AT_ONCE);

  constructor(private readonly containerd: Pick<Containerd, 'containers' | 'namespaces' | 'namespace'>) {}

  /** @throws ContainerdError when containerd does not tell */
  async standings(ids: Iterable<string>, signal: AbortSignal): Promise<Map<string, Standing>> {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return new Map();
    const namespaces = await this.containerd.namespaces.list({ signal });
    const others = namespaces.map(({ name }) => name).filter((name) => name !== this.containerd.namespace);
    const found = await Promise.all(unique.map(async (id) => [id, await this.slots.run(signal, () => this.standing(id, others, signal))] as const));
    return new Map(found);
  }

  private async standing(id: string, otherNamespaces: readonly string[], signal: AbortSignal): Promise<Standing> {
    const own = await this.record(id, { signal });
    if (own !== undefined && LEFTOVER_LABEL in own.labels) return 'nobody';
    if (own !== undefined) return sandboxCodec.key in own.extensions || containerCodec.key in own.extensions ? 'criquet' : 'others';
    for (const namespace of otherNamespaces) if ((await this.record(id, { signal, namespace })) !== undefined) return 'others';
    return 'nobody';
  }

  private async record(id: string, options: CallOptions): Promise<ContainerRecord | undefined> {
    try {
      return await this.containerd.containers.get(id, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
