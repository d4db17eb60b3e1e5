import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { CachedAttachment } from '@criquet/network-cni';
import { detachCached } from '../../sandbox/detach-cached.js';
import { isObjectId } from '../../state/object-id.js';
import type { AuditedNode } from '../audited-node.js';
import { isOwnAttachment } from '../cni-claims.js';
import type { Holding, HoldingSource } from '../holding.js';

/**
 * Attachments in the CNI cache, which may be shared with other users of libcni: criquet's name a network namespace of its own. A damaged one
 * names none and counts only where other things tell that its pod was criquet's.
 */
export function attachmentHoldings(node: AuditedNode): HoldingSource {
  const { cni, config, layout, networks } = node;
  return {
    kind: 'cni-attachment',
    async list() {
      const [readable, damaged] = await Promise.all([cni.cachedAttachments(), cni.unreadableAttachments()]);
      const own = readable.filter(({ attachment }) => isObjectId(attachment.containerId));
      return [...own.map((cached) => holding(cached, isOwnAttachment(cached, node) && layout.ownsNetnsDir)), ...damaged.flatMap(damagedHolding)];
    },
  };

  function holding(cached: CachedAttachment, certain: boolean): Holding {
    const { containerId, ifName } = cached.attachment;
    const name = `${cached.networkName}/${ifName}/${containerId}`;
    return { kind: 'cni-attachment', name, owner: { object: containerId }, certain, remove: (signal) => detach(cached, signal) };
  }

  function damagedHolding(file: string): Holding[] {
    const [, networkName, containerId, ifName] = /^(.+)-([0-9a-f]{64})-([^-]+)$/.exec(file) ?? [];
    if (networkName === undefined || containerId === undefined || ifName === undefined) return [];
    const attachment = { containerId, netns: '', ifName, args: [], capabilityArgs: {} };
    return [holding({ networkName, attachment, file: join(config.cni.cacheDir, 'results', file) }, false)];
  }

  async function detach(cached: CachedAttachment, signal: AbortSignal): Promise<void> {
    const path = layout.netns(cached.attachment.containerId);
    const netns = await access(path).then(() => path, () => '');
    await detachCached(cni, cached, { netns, timeoutMs: config.cni.delTimeout, configured: networks(), signal });
  }
}
