import type { ContainerStats } from '@criquet/cri-api';
import { inject, Lifecycle, scoped } from 'tsyringe';
import type { NodeFacts } from '../spec/index.js';
import type { ContainerRecord } from '../state/container-record.js';
import { Token, type Containers, type NodeRoots } from '../tokens.js';
import { CgroupFiles } from './cgroup/cgroup-files.js';
import { CgroupSamples, type CgroupSample } from './cgroup-samples.js';
import { cgroupUsage, NO_USAGE } from './cgroup-usage.js';
import { WritableLayers } from './writable-layers.js';

/**
 * What containers use, from the kernel's own files: no shim is asked, so that one that hangs delays nobody. What cannot be read is
 * left out and never fails a call.
 */
@scoped(Lifecycle.ContainerScoped)
export class ContainerUsage {
  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(Token.Containers) containers: Containers,
    @inject(CgroupSamples) private readonly samples: CgroupSamples,
    @inject(WritableLayers) private readonly layers: WritableLayers,
  ) {
    containers.observe((before, after) => {
      if (before === undefined || after !== undefined) return;
      this.samples.forget(before.id);
      this.layers.forget(before.id);
    });
  }

  cgroup(container: ContainerRecord): CgroupFiles {
    return CgroupFiles.of(container.cgroupsPath, this.node, `${this.roots.sys}/fs/cgroup`);
  }

  /** Absent for a container that does not run. */
  async sample(container: ContainerRecord): Promise<CgroupSample | undefined> {
    return container.phase === 'running' ? this.samples.of(container.id, this.cgroup(container), { withSwap: true }) : undefined;
  }

  /** CRI ContainerStats; of a container that does not run only what lies on disk. */
  async of(container: ContainerRecord): Promise<ContainerStats> {
    const [sample, writableLayer] = await Promise.all([this.sample(container), this.layers.of(container, container.phase === 'exited')]);
    const { metadata, labels, annotations } = container.config;
    return {
      attributes: { id: container.id, metadata, labels, annotations },
      ...(sample === undefined ? NO_USAGE : cgroupUsage(sample)),
      writableLayer,
    };
  }
}
