import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unmount } from '../../runtime/mount.js';
import { isObjectId } from '../../state/object-id.js';
import type { AuditedNode } from '../audited-node.js';
import type { HoldingKind, HoldingSource } from '../holding.js';
import { namesIn } from './object-directories.js';

/** Pinned network namespaces. Another criquet may pin in the same directory where that is not below this one's own. */
export function netnsHoldings({ layout }: AuditedNode): HoldingSource {
  return pins('netns', (id) => layout.netns(id), layout.ownsNetnsDir);
}

/** Pinned user namespaces. */
export function usernsHoldings({ layout }: AuditedNode): HoldingSource {
  return pins('userns', (id) => layout.userns(id), true);
}

function pins(kind: HoldingKind, pathOf: (id: string) => string, certain: boolean): HoldingSource {
  const parent = dirname(pathOf('id'));
  return {
    kind,
    async list() {
      const paths = (await namesIn(parent)).map((name) => join(parent, name));
      return paths.flatMap((path) => {
        const id = path.slice(-64);
        if (!isObjectId(id) || pathOf(id) !== path) return [];
        return [{ kind, name: path, owner: { object: id }, certain, remove: () => unpin(path) }];
      });
    },
  };
}

async function unpin(path: string): Promise<void> {
  await unmount(path);
  await rm(path, { force: true });
}
