import type { Cluster } from '../../harness/kubernetes/cluster.js';
import type { Kubectl } from '../../harness/kubernetes/kubectl.js';
import type { KubernetesNode } from '../../harness/kubernetes/kubernetes-node.js';

/** Where a check happens. */
export interface Scene {
  readonly cluster: Cluster;
  /** In a namespace that is the check's own. */
  readonly kubectl: Kubectl;
  /** The cluster's first node. */
  readonly node: KubernetesNode;
}

/** Something that a user does with a cluster; throws where the answer is not what Kubernetes promises. */
export type Check = (scene: Scene) => Promise<void>;
