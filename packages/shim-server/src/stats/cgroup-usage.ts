import type { CpuUsage, IoUsage, MemoryUsage, SwapUsage } from '@criquet/cri-api';
import type { CgroupSample } from './cgroup-samples.js';

/** The part of CRI's ContainerStats and LinuxPodSandboxStats that comes from a cgroup. */
export interface CgroupUsage {
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly swap: SwapUsage | undefined;
  readonly io: IoUsage | undefined;
}

/** Nothing is known: there is no cgroup. */
export const NO_USAGE: CgroupUsage = { cpu: undefined, memory: undefined, swap: undefined, io: undefined };

export function cgroupUsage(sample: CgroupSample): CgroupUsage {
  const { at: timestamp, cpuUsage, memory, swap, pressure } = sample;
  return {
    cpu: cpuUsage === undefined ? undefined : {
      timestamp,
      usageCoreNanoSeconds: { value: cpuUsage },
      usageNanoCores: optional(sample.nanoCores),
      psi: pressure.cpu,
    },
    memory: memory && {
      timestamp,
      workingSetBytes: { value: memory.workingSet },
      availableBytes: optional(remaining(memory.limit, memory.workingSet)),
      usageBytes: { value: memory.usage },
      rssBytes: { value: memory.rss },
      pageFaults: { value: memory.hierarchicalPageFaults },
      majorPageFaults: { value: memory.hierarchicalMajorPageFaults },
      psi: pressure.memory,
    },
    swap: swap && {
      timestamp,
      swapAvailableBytes: optional(remaining(swap.limit, swap.usage)),
      swapUsageBytes: { value: swap.usage },
    },
    io: pressure.io && { timestamp, psi: pressure.io },
  };
}

/** What a limit leaves; absent without one. */
function remaining(limit: bigint | undefined, used: bigint): bigint | undefined {
  return limit === undefined ? undefined : limit > used ? limit - used : 0n;
}

function optional(value: bigint | undefined): { value: bigint } | undefined {
  return value === undefined ? undefined : { value };
}
