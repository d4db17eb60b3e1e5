import type { LinuxContainerResources } from '@criquet/cri-api';

/**
 * What a container is held to after an update. In CRI a number that is 0 and a text that is empty mean "as it is"; huge pages and
 * unified keys are replaced one by one.
 *
 * `oom_score_adj` stays: it belongs to processes that run already, and no runtime changes it.
 *
 * A new memory limit without a word about swap keeps the amount of swap beyond memory that the container had, also none.
 */
export function mergeResources(
  before: LinuxContainerResources | undefined,
  update: LinuxContainerResources,
): LinuxContainerResources {
  const had = before ?? { ...update, oomScoreAdj: 0n };
  const number = (field: NumberField) => (update[field] === 0n ? had[field] : update[field]);
  const text = (field: 'cpusetCpus' | 'cpusetMems') => (update[field] === '' ? had[field] : update[field]);
  const changedPages = new Set(update.hugepageLimits.map(({ pageSize }) => pageSize));
  return {
    cpuPeriod: number('cpuPeriod'),
    cpuQuota: number('cpuQuota'),
    cpuShares: number('cpuShares'),
    memoryLimitInBytes: number('memoryLimitInBytes'),
    memorySwapLimitInBytes: update.memorySwapLimitInBytes === 0n ? keptSwap(had, update) : update.memorySwapLimitInBytes,
    oomScoreAdj: had.oomScoreAdj,
    cpusetCpus: text('cpusetCpus'),
    cpusetMems: text('cpusetMems'),
    hugepageLimits: [...had.hugepageLimits.filter(({ pageSize }) => !changedPages.has(pageSize)), ...update.hugepageLimits],
    unified: { ...had.unified, ...update.unified },
  };
}

type NumberField = 'cpuPeriod' | 'cpuQuota' | 'cpuShares' | 'memoryLimitInBytes';

/** `memory_swap_limit_in_bytes` counts memory and swap together; -1 is unlimited. */
function keptSwap(had: LinuxContainerResources, update: LinuxContainerResources): bigint {
  const { memoryLimitInBytes: limit, memorySwapLimitInBytes: both } = had;
  const newLimit = update.memoryLimitInBytes;
  if (newLimit === 0n || both <= 0n) return both;
  return newLimit < 0n || limit <= 0n ? newLimit : newLimit + (both - limit);
}
