import { invalidArgument } from '../errors.js';

/** The pause process outlives what it holds the namespaces for (the kubelet's PodInfraOOMAdj). */
export const SANDBOX_OOM_SCORE_ADJ = -998;

/**
 * `oom_score_adj` of a process, never below what the node lets the runtime set: without CAP_SYS_RESOURCE the kernel refuses to
 * lower it, and the container would not start at all.
 *
 * @throws INVALID_ARGUMENT outside -1000 to 1000.
 */
export function oomScoreAdj(field: string, wanted: bigint | number, node: { oomScoreAdjMin: number }): number {
  if (wanted < -1000 || wanted > 1000)
    throw invalidArgument(field, `${wanted} is out of range, -1000 to 1000 is allowed`);
  return Math.max(Number(wanted), node.oomScoreAdjMin);
}
