import type { CgroupLimits } from '../cgroup/limits.js';
import type { DeviceIo } from '../cgroup/block-io.js';
import type { HugePages } from '../cgroup/hugetlb.js';
import type { CpuTimes } from '../cgroup/cpu.js';
import type { MemoryEvents } from '../cgroup/memory-events.js';
import type { MemoryReclaim } from '../cgroup/memory-reclaim.js';
import type { CgroupSample } from '../cgroup-samples.js';
import { seconds, type MetricList } from './metric-list.js';

export function addCpu(list: MetricList, { cpuUsage, at }: CgroupSample, times: CpuTimes): void {
  list.add('container_cpu_usage_seconds_total', seconds(cpuUsage), [], at);
  list.add('container_cpu_user_seconds_total', seconds(times.user));
  list.add('container_cpu_system_seconds_total', seconds(times.system));
  list.add('container_cpu_cfs_periods_total', times.periods);
  list.add('container_cpu_cfs_throttled_periods_total', times.throttledPeriods);
  list.add('container_cpu_cfs_throttled_seconds_total', seconds(times.throttled));
  list.add('container_cpu_cfs_burst_periods_total', times.burstPeriods);
  list.add('container_cpu_cfs_burst_seconds_total', seconds(times.burst));
}

export function addMemory(list: MetricList, { memory, swap, at }: CgroupSample, events: MemoryEvents): void {
  list.add('container_memory_usage_bytes', memory?.usage, [], at);
  list.add('container_memory_working_set_bytes', memory?.workingSet, [], at);
  // Kernels before 5.19 keep no maximum on v2: what is in use now is the least that it can be.
  list.add('container_memory_max_usage_bytes', events.maxUsage ?? memory?.usage, [], events.maxUsage === undefined ? at : 0n);
  list.add('container_memory_rss', memory?.rss, [], at);
  list.add('container_memory_cache', memory?.cache, [], at);
  list.add('container_memory_mapped_file', memory?.mappedFile, [], at);
  list.add('container_memory_kernel_usage', events.kernel ?? 0n);
  list.add('container_memory_swap', swap?.usage ?? 0n, [], at);
  list.add('container_memory_total_active_file_bytes', memory?.activeFile, [], at);
  list.add('container_memory_total_inactive_file_bytes', memory?.inactiveFile, [], at);
  list.add('container_memory_failcnt', events.limitHits);
  list.add('container_oom_events_total', events.oomKills);
  list.add('container_memory_failures_total', memory?.pageFaults, ['pgfault', 'container'], at);
  list.add('container_memory_failures_total', memory?.majorPageFaults, ['pgmajfault', 'container'], at);
  list.add('container_memory_failures_total', memory?.hierarchicalPageFaults, ['pgfault', 'hierarchy'], at);
  list.add('container_memory_failures_total', memory?.hierarchicalMajorPageFaults, ['pgmajfault', 'hierarchy'], at);
}

export function addReclaim(list: MetricList, reclaim: MemoryReclaim): void {
  list.add('container_memory_events_high_total', reclaim.highEvents);
  list.add('container_memory_events_max_total', reclaim.maxEvents);
  list.add('container_memory_file_dirty_bytes', reclaim.dirty);
  list.add('container_memory_file_writeback_bytes', reclaim.writeback);
  list.add('container_memory_pgscan_total', reclaim.scanned);
  list.add('container_memory_pgsteal_total', reclaim.stolen);
  list.add('container_memory_workingset_refault_file_total', reclaim.refaultedFile);
  list.add('container_memory_workingset_refault_anon_total', reclaim.refaultedAnonymous);
}

export function addHugePages(list: MetricList, pages: readonly HugePages[]): void {
  for (const { pageSize, usage, maxUsage } of pages) {
    list.add('container_hugetlb_usage_bytes', usage, [pageSize]);
    list.add('container_hugetlb_max_usage_bytes', maxUsage, [pageSize]);
  }
}

export function addPressure(list: MetricList, { pressure, at }: CgroupSample): void {
  for (const resource of ['cpu', 'memory', 'io'] as const) {
    list.add(`container_pressure_${resource}_waiting_seconds_total`, seconds(pressure[resource]?.Some?.Total), [], at);
    list.add(`container_pressure_${resource}_stalled_seconds_total`, seconds(pressure[resource]?.Full?.Total), [], at);
  }
}

/** @param deviceName of a block device by its numbers. */
export function addBlockIo(list: MetricList, devices: readonly DeviceIo[], deviceName: (major: number, minor: number) => string): void {
  for (const { major, minor, bytes, requests } of devices) {
    const device = deviceName(major, minor);
    for (const [operation, value] of Object.entries(bytes)) {
      list.add('container_blkio_device_usage_total', value, [device, String(major), String(minor), operation]);
    }
    list.add('container_fs_reads_bytes_total', bytes.Read, [device]);
    list.add('container_fs_writes_bytes_total', bytes.Write, [device]);
    list.add('container_fs_reads_total', requests.Read, [device]);
    list.add('container_fs_writes_total', requests.Write, [device]);
  }
}

/** @param askedShares as the container's configuration has them; the kernel's own figure on v2 does not tell them exactly. 0 is unset. */
export function addLimits(list: MetricList, limits: CgroupLimits, askedShares: bigint): void {
  list.add('container_spec_cpu_period', limits.cpuPeriod);
  list.add('container_spec_cpu_quota', limits.cpuQuota ?? 0n);
  list.add('container_spec_cpu_shares', askedShares === 0n ? limits.cpuShares : askedShares);
  list.add('container_spec_memory_limit_bytes', limits.memory ?? 0n);
  list.add('container_spec_memory_reservation_limit_bytes', limits.memoryReservation ?? 0n);
  list.add('container_spec_memory_swap_limit_bytes', limits.memorySwap ?? 0n);
  list.add('container_threads_max', limits.threads ?? 0n);
}
