import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { removeCgroups } from '../../runtime/own-cgroups.js';
import { cgroupOwner } from '../../spec/index.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';

/**
 * Cgroups whose names have the form of criquet's. Every CRI runtime of the machine uses that form, and one of another containerd may be empty for a while: they
 * count only where other things tell that the container was criquet's. A record does not go before its cgroup.
 */
export function cgroupHoldings({ roots }: AuditedNode): HoldingSource {
  const root = join(roots.sys, 'fs/cgroup');
  return {
    kind: 'cgroup',
    async list() {
      const hierarchies = await hierarchiesOf(root);
      const found = new Map<string, { readonly id: string; readonly directories: string[] }>();
      for (const hierarchy of hierarchies) await collect(hierarchy, hierarchy, found);
      return [...found].map(([name, { id, directories }]): Holding => {
        return { kind: 'cgroup', name, owner: { object: id }, certain: false, remove: (signal) => removeCgroups(directories, signal) };
      });
    },
  };
}

/** On cgroup v1 one a controller; the links that join their names are passed over. */
async function hierarchiesOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
  if (entries.some(({ name }) => name === 'cgroup.controllers')) return [root];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(root, name));
}

/** By their path within the hierarchy. */
async function collect(hierarchy: string, directory: string, found: Map<string, { readonly id: string; readonly directories: string[] }>): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isDirectory()) continue;
    const path = join(directory, entry.name);
    const id = cgroupOwner(entry.name);
    if (id === undefined) {
      await collect(hierarchy, path, found);
      continue;
    }
    const name = `/${relative(hierarchy, path)}`;
    const known = found.get(name) ?? { id, directories: [] };
    known.directories.push(path);
    found.set(name, known);
  }
}
