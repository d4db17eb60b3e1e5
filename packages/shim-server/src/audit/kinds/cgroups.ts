import { readdir, rmdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupsFrom, killIn, processesIn } from '../../runtime/cgroup-processes.js';
import { cgroupOwner } from '../../spec/index.js';
import type { AuditedNode } from '../audited-node.js';
import type { Holding, HoldingSource } from '../holding.js';
import { runtimeStateIds } from '../runtime-states.js';

const LOOK_MS = 50;

/**
 * Cgroups whose names have the form of criquet's. Other CRI runtimes use the same form: an empty one that no OCI runtime knows the container of is
 * of no use to anybody; any other counts only where other things tell that its container was criquet's.
 */
export function cgroupHoldings({ config, roots }: AuditedNode): HoldingSource {
  const root = join(roots.sys, 'fs/cgroup');
  return {
    kind: 'cgroup',
    async list() {
      const [hierarchies, states] = await Promise.all([hierarchiesOf(root), runtimeStateIds(config)]);
      const found = new Map<string, { readonly id: string; readonly directories: string[] }>();
      for (const hierarchy of hierarchies) await collect(hierarchy, hierarchy, found);
      return Promise.all(
        [...found].map(async ([name, { id, directories }]): Promise<Holding> => {
          const cgroups = (await Promise.all(directories.map(cgroupsFrom))).flat();
          const empty = (await processesIn(cgroups)).size === 0;
          const remove = (signal: AbortSignal) => removeCgroups(directories, signal);
          return { kind: 'cgroup', name, owner: { object: id }, certain: empty && !states.has(id), remove };
        }),
      );
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

async function removeCgroups(directories: readonly string[], signal: AbortSignal): Promise<void> {
  const cgroups = (await Promise.all(directories.map(cgroupsFrom))).flat();
  while ((await killIn(cgroups)) > 0) await pause(LOOK_MS, undefined, { signal });
  for (const cgroup of cgroups.reverse()) {
    await rmdir(cgroup).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
}
