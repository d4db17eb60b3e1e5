import type { Mount } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { Token, type Containers } from '../tokens.js';

/** Root file systems of containers that are created and not started yet, as containerd told of them: one question less at the start. */
@scoped(Lifecycle.ContainerScoped)
export class PreparedRootfs {
  private readonly mounts = new Map<string, readonly Mount[]>();

  constructor(@inject(Token.Containers) containers: Containers) {
    containers.observe((before, after) => {
      if (before !== undefined && after === undefined) this.mounts.delete(before.id);
    });
  }

  keep(containerId: string, mounts: readonly Mount[]): void {
    this.mounts.set(containerId, mounts);
  }

  /** undefined for a container that an earlier daemon created. It is told once. */
  take(containerId: string): readonly Mount[] | undefined {
    const mounts = this.mounts.get(containerId);
    this.mounts.delete(containerId);
    return mounts;
  }
}
