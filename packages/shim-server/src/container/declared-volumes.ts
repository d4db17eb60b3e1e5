import { join, posix } from 'node:path';
import type { ContainerConfig } from '@criquet/cri-api';
import type { ImageRunConfig, Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { CriquetConfig } from '../config/index.js';
import { failedPrecondition } from '../errors.js';
import { copyTree } from '../runtime/copy-tree.js';
import { makeDirectories } from '../runtime/make-directories.js';
import { openInRoot } from '../runtime/open-in-root.js';
import { removeDirectory } from '../runtime/remove-directory.js';
import { readSnapshot } from '../runtime/snapshot-reader.js';
import type { Xattrs } from '../runtime/xattrs.js';
import type { Layout } from '../state/layout.js';
import { Token } from '../tokens.js';

/**
 * The volumes that an image declares (`VOLUME`): each is a directory of the node that belongs to the container, begins with
 * what the image has at that place and goes with the container.
 */
@scoped(Lifecycle.ContainerScoped)
export class DeclaredVolumes {
  constructor(
    @inject(Token.Layout) private readonly layout: Layout,
    @inject(Token.Config) private readonly config: CriquetConfig,
    @inject(Token.Xattrs) private readonly xattrs: Xattrs,
  ) {}

  /** Their destinations, sorted. CRI's mount at a place goes before the image's. @throws FAILED_PRECONDITION for one at the root */
  plan(config: ContainerConfig, image: ImageRunConfig): string[] {
    if (this.config.container.ignoreImageDefinedVolumes) return [];
    const mounted = new Set(config.mounts.map(({ containerPath }) => posix.resolve('/', containerPath)));
    const declared = new Set(Object.keys(image.Volumes ?? {}).map((path) => posix.resolve('/', path)));
    if (declared.has('/')) throw failedPrecondition('the image declares its root directory as a volume');
    return [...declared].filter((path) => !mounted.has(path)).sort();
  }

  /** Where each is on the node, whether or not it is there yet. */
  hostPaths(containerId: string, destinations: readonly string[]): { containerPath: string; hostPath: string }[] {
    const directory = this.layout.declaredVolumes(containerId);
    return destinations.map((containerPath, index) => ({ containerPath, hostPath: join(directory, String(index)) }));
  }

  /** Makes them, filled from the container's snapshot, to which nobody has written yet. */
  async create(containerId: string, destinations: readonly string[], snapshot: readonly Mount[]): Promise<void> {
    const volumes = this.hostPaths(containerId, destinations);
    if (volumes.length === 0) return;
    for (const { hostPath } of volumes) await makeDirectories(hostPath, 0o755);
    await makeDirectories(this.layout.lookup, 0o700);
    await readSnapshot(snapshot, this.layout.lookup, async (root) => {
      for (const { containerPath, hostPath } of volumes) await this.fill(root, containerPath, hostPath);
    });
  }

  /** What is gone already is fine. */
  async remove(containerId: string): Promise<void> {
    await removeDirectory(this.layout.declaredVolumes(containerId));
  }

  private async fill(root: string, containerPath: string, hostPath: string): Promise<void> {
    await openInRoot(root, containerPath, async (found) => {
      if (found === undefined) return;
      if (!(await found.stat()).isDirectory()) {
        throw failedPrecondition(`the image declares ${JSON.stringify(containerPath)} as a volume and has a file there`);
      }
      await copyTree(`/proc/self/fd/${found.fd}`, hostPath, this.xattrs);
    });
  }
}
