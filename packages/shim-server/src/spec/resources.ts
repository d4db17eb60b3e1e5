import type { HugepageLimit, LinuxContainerResources } from '@criquet/cri-api';
import type { LinuxCpu, LinuxMemory, LinuxResources } from '@criquet/runtime-containerd';
import { failedPrecondition, invalidArgument } from '../errors.js';
import type { NodeFacts } from './node-facts.js';
import type { NodePolicy } from './node-policy.js';
import { toWideInteger } from './wide-integer.js';

/** The part of the node that resources depend on. */
export type ResourceFacts = Pick<NodeFacts, 'cgroup' | 'controllers' | 'hugepageSizes' | 'swapAccounting'>;

/** The part of the configuration that resources depend on. */
export type ResourcePolicy = Pick<NodePolicy, 'tolerateMissingHugetlb'>;

/** What the kernel takes for `cpu.shares`; runc refuses what the kernel would change. */
const CPU_SHARES = { min: 2n, max: 262144n };
/** Microseconds, what the kernel takes for `cpu.cfs_period_us` (and `cpu.max`). */
const CPU_PERIOD = { min: 1000n, max: 1000000n };
/** Microseconds, the kernel's least `cpu.cfs_quota_us`. */
const CPU_QUOTA_MIN = 1000n;

/**
 * OCI resources from CRI's, for cgroup v1 and v2 alike (the runtime converts shares and swap itself). In CRI 0 means "not
 * set". Used for new containers and for updates.
 *
 * @param field the path of the message in the request, for errors.
 * @throws INVALID_ARGUMENT naming the field for values that the kernel cannot take; FAILED_PRECONDITION for v2 files on v1, and
 * for huge pages without their controller where the policy does not tolerate it.
 */
export function buildResources(
  field: string,
  resources: LinuxContainerResources,
  node: ResourceFacts,
  policy: ResourcePolicy = { tolerateMissingHugetlb: true },
): Pick<LinuxResources, 'cpu' | 'memory' | 'hugepageLimits' | 'unified'> {
  const cpu = buildCpu(field, resources);
  const memory = buildMemory(field, resources, node);
  const hugepageLimits = resources.hugepageLimits.flatMap((limit, index) =>
    buildHugepageLimit(`${field}.hugepage_limits[${index}]`, limit, node, policy),
  );
  if (Object.keys(resources.unified).length > 0 && node.cgroup === 'v1') {
    throw failedPrecondition(`${field}.unified: this node has cgroup v1, which has no unified files`);
  }
  return {
    ...(Object.keys(cpu).length > 0 && { cpu }),
    ...(Object.keys(memory).length > 0 && { memory }),
    ...(hugepageLimits.length > 0 && { hugepageLimits }),
    ...(Object.keys(resources.unified).length > 0 && {
      unified: checkedUnified(`${field}.unified`, resources.unified),
    }),
  };
}

function buildCpu(field: string, resources: LinuxContainerResources): LinuxCpu {
  const { cpuPeriod, cpuQuota, cpuShares } = resources;
  const cpu: LinuxCpu = {};
  if (cpuShares !== 0n) {
    checkRange(`${field}.cpu_shares`, cpuShares, CPU_SHARES);
    cpu.shares = toWideInteger(cpuShares);
  }
  if (cpuPeriod !== 0n) {
    checkRange(`${field}.cpu_period`, cpuPeriod, CPU_PERIOD);
    cpu.period = toWideInteger(cpuPeriod);
  }
  if (cpuQuota !== 0n) {
    if (cpuQuota !== -1n && cpuQuota < CPU_QUOTA_MIN) {
      throw invalidArgument(
        `${field}.cpu_quota`,
        `${cpuQuota} is below ${CPU_QUOTA_MIN} microseconds (-1 is unlimited)`,
      );
    }
    cpu.quota = toWideInteger(cpuQuota);
  }
  if (resources.cpusetCpus !== '') cpu.cpus = checkList(`${field}.cpuset_cpus`, resources.cpusetCpus);
  if (resources.cpusetMems !== '') cpu.mems = checkList(`${field}.cpuset_mems`, resources.cpusetMems);
  return cpu;
}

/**
 * Swap is off unless asked for: without `memory_swap_limit_in_bytes` the limit of memory and swap together equals the
 * memory limit. Where the kernel does not account swap, nothing is set.
 */
function buildMemory(field: string, resources: LinuxContainerResources, node: ResourceFacts): LinuxMemory {
  const limit = resources.memoryLimitInBytes;
  const swap = resources.memorySwapLimitInBytes;
  if (limit < -1n) throw invalidArgument(`${field}.memory_limit_in_bytes`, `${limit} is negative (-1 is unlimited)`);
  const swapField = `${field}.memory_swap_limit_in_bytes`;
  if (swap < -1n) throw invalidArgument(swapField, `${swap} is negative (-1 is unlimited)`);
  if (swap > 0n && limit <= 0n) throw invalidArgument(swapField, 'needs a memory limit beside it');
  if (swap > 0n && swap < limit) {
    throw invalidArgument(
      swapField,
      `${swap} is less than memory_limit_in_bytes (${limit}): it counts memory and swap together`,
    );
  }
  const memory: LinuxMemory = {};
  if (limit !== 0n) memory.limit = toWideInteger(limit);
  if (node.swapAccounting) {
    if (swap !== 0n) memory.swap = toWideInteger(swap);
    else if (limit !== 0n) memory.swap = toWideInteger(limit);
  }
  return memory;
}

/** The kubelet sends every page size of the node, 0 for those a container does not use. */
function buildHugepageLimit(
  field: string,
  { pageSize, limit }: HugepageLimit,
  node: ResourceFacts,
  policy: ResourcePolicy,
): NonNullable<LinuxResources['hugepageLimits']> {
  if (!/^\d+(KB|MB|GB|TB)$/.test(pageSize)) {
    throw invalidArgument(`${field}.page_size`, `${JSON.stringify(pageSize)} is not a size such as "2MB"`);
  }
  if (limit < 0n) throw invalidArgument(`${field}.limit`, `${limit} is negative`);
  if (!node.controllers.includes('hugetlb')) {
    if (limit === 0n || policy.tolerateMissingHugetlb) return [];
    throw failedPrecondition(`${field}: this node has no hugetlb cgroup controller (resources.tolerate_missing_hugetlb_controller)`);
  }
  const known = node.hugepageSizes.includes(pageSize);
  if (!known && limit > 0n) {
    throw invalidArgument(`${field}.page_size`, `this node has no huge pages of ${pageSize}`);
  }
  return known ? [{ pageSize, limit: toWideInteger(limit) }] : [];
}

function checkedUnified(field: string, unified: Record<string, string>): Record<string, string> {
  for (const name of Object.keys(unified)) {
    if (!/^[a-z_]+(\.[A-Za-z0-9_]+)+$/.test(name)) {
      throw invalidArgument(field, `${JSON.stringify(name)} is not the name of a cgroup file`);
    }
  }
  return { ...unified };
}

function checkRange(field: string, value: bigint, { min, max }: { min: bigint; max: bigint }): void {
  if (value < min || value > max) throw invalidArgument(field, `${value} is out of range, ${min} to ${max} is allowed`);
}

/** A list of CPUs or memory nodes in the kernel's format, `0-3,8`. */
function checkList(field: string, list: string): string {
  for (const part of list.split(',')) {
    const [, first, last] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    if (first === undefined || (last !== undefined && Number(last) < Number(first))) {
      throw invalidArgument(field, `${JSON.stringify(list)} is not a list such as "0-3,8"`);
    }
  }
  return list;
}
