import { decodeSpec, type Containerd, type SpecProcess } from '@criquet/runtime-containerd';
import { inject, Lifecycle, scoped } from 'tsyringe';
import { failedPrecondition } from '../errors.js';
import { Token, type Containers } from '../tokens.js';

/**
 * The `process` of running containers' runtime specs, for commands that are run in them: read from containerd once for each container, since it does not change
 * after its creation, and kept until the container has ended.
 */
@scoped(Lifecycle.ContainerScoped)
export class ContainerProcesses {
  private readonly known = new Map<string, SpecProcess>();

  constructor(
    @inject(Token.Containerd) private readonly containerd: Containerd,
    @inject(Token.Containers) private readonly containers: Containers,
  ) {
    containers.observe((before, after) => {
      if (before !== undefined && after?.phase !== 'running') this.known.delete(before.id);
    });
  }

  /** @throws FAILED_PRECONDITION for a record without a runtime spec */
  async of(containerId: string, signal: AbortSignal): Promise<SpecProcess> {
    const known = this.known.get(containerId);
    if (known !== undefined) return known;
    const { spec } = await this.containerd.containers.get(containerId, { signal });
    const process = spec === undefined ? undefined : decodeSpec(spec).process;
    if (process === undefined) throw failedPrecondition(`container ${containerId} has no runtime spec`);
    if (this.containers.get(containerId)?.phase === 'running') this.known.set(containerId, process);
    return process;
  }
}
