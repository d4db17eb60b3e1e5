import { Cni, type CachedAttachment } from '@criquet/network-cni';
import type { AuditedNode } from './audited-node.js';

/** Where libcni keeps attachments unless it is told otherwise: containerd's own plugin and Podman leave it at that. */
const LIBCNI_CACHE_DIR = '/var/lib/cni';

/** The attachments in the caches of this node: criquet's, and those of whoever uses libcni with its default directory. */
export async function attachmentsOnNode({ cni, config }: Pick<AuditedNode, 'cni' | 'config'>): Promise<CachedAttachment[]> {
  const own = await cni.cachedAttachments();
  if (config.cni.cacheDir === LIBCNI_CACHE_DIR) return own;
  const others = await new Cni({ binDirs: config.cni.binDirs, cacheDir: LIBCNI_CACHE_DIR }).cachedAttachments().catch(() => []);
  return [...own, ...others];
}

/** Whether criquet made an attachment: its network namespace is one that criquet pins. */
export function isOwnAttachment({ attachment: { containerId, netns } }: CachedAttachment, { layout }: Pick<AuditedNode, 'layout'>): boolean {
  return netns === layout.netns(containerId);
}
