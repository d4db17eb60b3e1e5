import type { PosixRlimit } from '@criquet/runtime-containerd';
import type { CriquetConfig } from '../config/index.js';
import { parseUlimit } from './rlimits.js';

/** What the configuration decides of every container's spec. */
export interface NodePolicy {
  /** Whether the capabilities that a container adds are ambient too. */
  readonly ambientCapabilities: boolean;
  /** Limits of every container's processes. */
  readonly rlimits: readonly PosixRlimit[];
  /** Whether limits of huge pages are left out where the node has no hugetlb controller, instead of being an error. */
  readonly tolerateMissingHugetlb: boolean;
}

export function nodePolicy({ resources, security }: Pick<CriquetConfig, 'resources' | 'security'>): NodePolicy {
  return {
    ambientCapabilities: security.ambientCapabilities,
    rlimits: resources.defaultUlimits.map(parseUlimit),
    tolerateMissingHugetlb: resources.tolerateMissingHugetlbController,
  };
}
