import type { CgroupFiles } from './cgroup-files.js';

/** What the kernel holds a cgroup to. What is absent is unlimited. */
export interface CgroupLimits {
  /** Microseconds. */
  readonly cpuPeriod: bigint;
  /** Microseconds of CPU time in a period. */
  readonly cpuQuota?: bigint;
  readonly cpuShares: bigint;
  /** Bytes. */
  readonly memory?: bigint;
  /** Bytes that are reclaimed last. */
  readonly memoryReservation?: bigint;
  /** Bytes of memory and swap together, as OCI and cgroup v1 count. */
  readonly memorySwap?: bigint;
  /** Threads (tasks). */
  readonly threads?: bigint;
}

/** The kernel's defaults. */
const CPU_PERIOD = 100_000n;
const CPU_SHARES = 1024n;

/** Read from the kernel and not from the spec, so that they are true after an update, whoever made it. */
export function readLimits(files: CgroupFiles): CgroupLimits {
  const threads = files.limit('pids', 'pids.max');
  const rest = files.version === 'v2' ? readV2(files) : readV1(files);
  return { ...rest, ...(typeof threads === 'bigint' ? { threads } : {}) };
}

function readV1(files: CgroupFiles): CgroupLimits {
  const period = files.number('cpu', 'cpu.cfs_period_us');
  const quota = files.limit('cpu', 'cpu.cfs_quota_us');
  const shares = files.number('cpu', 'cpu.shares');
  const memory = files.limit('memory', 'memory.limit_in_bytes');
  const reservation = files.limit('memory', 'memory.soft_limit_in_bytes');
  const memorySwap = files.limit('memory', 'memory.memsw.limit_in_bytes');
  return {
    cpuPeriod: period ?? CPU_PERIOD,
    ...(typeof quota === 'bigint' ? { cpuQuota: quota } : {}),
    cpuShares: shares ?? CPU_SHARES,
    ...(typeof memory === 'bigint' ? { memory } : {}),
    ...(typeof reservation === 'bigint' ? { memoryReservation: reservation } : {}),
    ...(typeof memorySwap === 'bigint' ? { memorySwap } : {}),
  };
}

function readV2(files: CgroupFiles): CgroupLimits {
  const cpuMax = files.text('cpu', 'cpu.max');
  const weight = files.number('cpu', 'cpu.weight');
  const memory = files.limit('memory', 'memory.max');
  const reservation = files.limit('memory', 'memory.low');
  const swap = files.limit('memory', 'memory.swap.max');
  const [, quota, period] = /^(\d+|max) (\d+)$/.exec(cpuMax?.trim() ?? '') ?? [];
  return {
    cpuPeriod: period === undefined ? CPU_PERIOD : BigInt(period),
    ...(quota === undefined || quota === 'max' ? {} : { cpuQuota: BigInt(quota) }),
    cpuShares: weight === undefined ? CPU_SHARES : sharesOfWeight(weight),
    ...(typeof memory === 'bigint' ? { memory } : {}),
    ...(typeof reservation === 'bigint' && reservation > 0n ? { memoryReservation: reservation } : {}),
    ...(typeof memory === 'bigint' && typeof swap === 'bigint' ? { memorySwap: memory + swap } : {}),
  };
}

/**
 * The shares (2 to 262144) that a weight (1 to 10000) stands for, by a straight line between the ends, which cAdvisor's and the
 * kubelet's figures follow too. Runtimes convert by other curves, so what comes out need not be what a spec asked for.
 */
function sharesOfWeight(weight: bigint): bigint {
  return weight === 0n ? 0n : 2n + ((weight - 1n) * 262_142n) / 9999n;
}
