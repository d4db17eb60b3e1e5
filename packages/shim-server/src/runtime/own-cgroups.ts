import { existsSync, readdirSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import { cgroupDirectory, type NodeFacts } from '../spec/index.js';
import { Token, type NodeRoots } from '../tokens.js';
import { cgroupsFrom, killIn } from './cgroup-processes.js';

/** How long killed processes may take to be gone, and how often that is looked at. */
const KILLED_MS = 5_000;
const LOOK_MS = 20;

/**
 * The cgroups of containers and pause processes. The OCI runtime makes and removes them; one that is killed before it has written its state,
 * as containerd kills it when the daemon that asked for a task dies, leaves them with what was in them, and nobody else knows of them.
 */
@scoped(Lifecycle.ContainerScoped)
export class OwnCgroups {
  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
  ) {}

  /**
   * Kills what is in the cgroups of an object that does not run, and removes them, in every hierarchy.
   *
   * @throws when they are still in use after five seconds
   */
  async remove(object: { readonly id: string; readonly cgroupsPath: string }): Promise<void> {
    // An OCI runtime has removed them in the usual case.
    const directories = this.of(object).filter((directory) => existsSync(directory));
    const late = AbortSignal.timeout(KILLED_MS);
    await removeCgroups(directories, late).catch((error: unknown) => {
      throw late.aborted ? failedPrecondition(`still in use: ${directories.filter((directory) => existsSync(directory)).join(', ')}`) : error;
    });
  }

  private of({ id, cgroupsPath }: { readonly id: string; readonly cgroupsPath: string }): string[] {
    // Nothing but a cgroup that is certainly this object's alone.
    if (!cgroupsPath.includes(id)) return [];
    const root = join(this.roots.sys, 'fs/cgroup');
    const hierarchies = this.node.cgroup === 'v2' ? [''] : namesIn(root);
    return hierarchies.map((name) => cgroupDirectory(cgroupsPath, this.node, name, root));
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Kills what is in cgroups and those below them, and removes them; those that are gone are fine. @throws the signal's reason */
export async function removeCgroups(directories: readonly string[], signal?: AbortSignal): Promise<void> {
  for (;;) {
    const left = (await Promise.all(directories.map(cgroupsFrom))).flat();
    await killIn(left);
    let busy = false;
    // Those below come first.
    for (const cgroup of left.reverse()) {
      await rmdir(cgroup).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EBUSY') busy = true;
      });
    }
    if (!busy) return;
    await pause(LOOK_MS, undefined, signal === undefined ? {} : { signal });
  }
}
