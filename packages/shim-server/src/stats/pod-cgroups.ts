import { inject, Lifecycle, scoped } from 'tsyringe';
import type { NodeFacts } from '../spec/index.js';
import type { SandboxRecord } from '../state/sandbox-record.js';
import { Token, type NodeRoots, type Sandboxes } from '../tokens.js';
import { CgroupFiles } from './cgroup/cgroup-files.js';

/** Where the cgroups of pods are. */
@scoped(Lifecycle.ContainerScoped)
export class PodCgroups {
  constructor(
    @inject(Token.NodeFacts) private readonly node: NodeFacts,
    @inject(Token.NodeRoots) private readonly roots: NodeRoots,
    @inject(Token.Sandboxes) private readonly sandboxes: Sandboxes,
  ) {}

  /** The cgroup of the pause process. */
  ofPause(sandbox: SandboxRecord): CgroupFiles {
    return CgroupFiles.of(sandbox.cgroupsPath, this.node, `${this.roots.sys}/fs/cgroup`);
  }

  /**
   * The pod's own cgroup, as the kubelet makes one for each pod and names it in `cgroup_parent`: it counts also what no container is
   * charged for, such as the pages of an emptyDir in memory. Absent where the parent is shared with another pod, or there is none.
   */
  own(sandbox: SandboxRecord): CgroupFiles | undefined {
    const parent = sandbox.config.linux?.cgroupParent ?? '';
    if (parent === '') return undefined;
    const uid = sandbox.config.metadata?.uid;
    const shared = this.sandboxes
      .all()
      .some(({ config }) => config.linux?.cgroupParent === parent && config.metadata?.uid !== uid);
    return shared ? undefined : this.ofPause(sandbox).parent;
  }
}
