import { MetricType, type MetricDescriptor } from '@criquet/cri-api';

/** What of a metric does not depend on who it is about. */
interface MetricKind {
  readonly help: string;
  readonly type: MetricType;
  /** Beside {@link BASE_LABELS}. */
  readonly labels: readonly string[];
}

/** The labels of every metric, in this order, as cAdvisor in the kubelet names them. `id` is the cgroup's path, `name` the container's id. */
export const BASE_LABELS = ['container', 'id', 'image', 'name', 'namespace', 'pod'] as const;

const counter = (help: string, ...labels: string[]): MetricKind => ({ help, type: MetricType.COUNTER, labels });
const gauge = (help: string, ...labels: string[]): MetricKind => ({ help, type: MetricType.GAUGE, labels });

/**
 * Every metric of ListPodSandboxMetrics. Names are cAdvisor's, so that what reads the kubelet's /metrics/cadvisor goes on working.
 * CRI's values are whole numbers: seconds are cut, and there is no `container_health_state`, which is -1 for every container here.
 */
export const METRICS = {
  container_cpu_usage_seconds_total: counter('CPU time used, in seconds.'),
  container_cpu_user_seconds_total: counter('CPU time used in user mode, in seconds.'),
  container_cpu_system_seconds_total: counter('CPU time used in kernel mode, in seconds.'),
  container_cpu_cfs_periods_total: counter('Periods that passed under a CPU quota.'),
  container_cpu_cfs_throttled_periods_total: counter('Periods in which the CPU quota was used up.'),
  container_cpu_cfs_throttled_seconds_total: counter('Time for which the CPU quota held the container up, in seconds.'),
  container_cpu_cfs_burst_periods_total: counter('Periods in which more than the CPU quota was used, out of what had been saved up.'),
  container_cpu_cfs_burst_seconds_total: counter('CPU time used beyond the quota, out of what had been saved up, in seconds.'),

  container_memory_usage_bytes: gauge('Memory in use, the page cache included, in bytes.'),
  container_memory_working_set_bytes: gauge('Memory in use without the inactive page cache, in bytes.'),
  container_memory_max_usage_bytes: gauge('The most memory that was in use at once, in bytes.'),
  container_memory_rss: gauge('Anonymous memory, in bytes.'),
  container_memory_cache: gauge('Page cache, in bytes.'),
  container_memory_mapped_file: gauge('Memory-mapped files, in bytes.'),
  container_memory_kernel_usage: gauge('Memory of the kernel on behalf of the container, in bytes.'),
  container_memory_swap: gauge('Swap in use, in bytes.'),
  container_memory_total_active_file_bytes: gauge('Page cache that was used lately, in bytes.'),
  container_memory_total_inactive_file_bytes: gauge('Page cache that was not used lately, in bytes.'),
  container_memory_failcnt: counter('How often memory in use met its limit.'),
  container_memory_failures_total: counter('Page faults (pgfault) and those that read from disk (pgmajfault).', 'failure_type', 'scope'),
  container_memory_events_high_total: counter('How often memory in use went beyond what is reclaimed above; 0 on cgroup v1.'),
  container_memory_events_max_total: counter('How often memory in use was about to go beyond its limit; 0 on cgroup v1.'),
  container_memory_file_dirty_bytes: gauge('Page cache that is to be written back, in bytes.'),
  container_memory_file_writeback_bytes: gauge('Page cache that is being written back, in bytes.'),
  container_memory_pgscan_total: counter('Pages looked at for reclaim; 0 on cgroup v1.'),
  container_memory_pgsteal_total: counter('Pages reclaimed; 0 on cgroup v1.'),
  container_memory_workingset_refault_file_total: counter('Pages of files that were reclaimed and soon wanted again; 0 on cgroup v1.'),
  container_memory_workingset_refault_anon_total: counter('Anonymous pages that were reclaimed and soon wanted again; 0 on cgroup v1.'),
  container_oom_events_total: counter('Processes that the kernel killed for the memory limit.'),
  container_hugetlb_usage_bytes: gauge('Huge pages in use, in bytes.', 'pagesize'),
  container_hugetlb_max_usage_bytes: gauge('The most huge pages that were in use at once, in bytes.', 'pagesize'),

  container_pressure_cpu_waiting_seconds_total: counter('Time for which some task waited for CPU, in seconds.'),
  container_pressure_cpu_stalled_seconds_total: counter('Time for which all tasks waited for CPU, in seconds.'),
  container_pressure_memory_waiting_seconds_total: counter('Time for which some task waited for memory, in seconds.'),
  container_pressure_memory_stalled_seconds_total: counter('Time for which all tasks waited for memory, in seconds.'),
  container_pressure_io_waiting_seconds_total: counter('Time for which some task waited for I/O, in seconds.'),
  container_pressure_io_stalled_seconds_total: counter('Time for which all tasks waited for I/O, in seconds.'),

  container_blkio_device_usage_total: counter('Bytes moved to and from a block device.', 'device', 'major', 'minor', 'operation'),
  container_fs_reads_bytes_total: counter('Bytes read from a block device.', 'device'),
  container_fs_reads_total: counter('Reads from a block device.', 'device'),
  container_fs_writes_bytes_total: counter('Bytes written to a block device.', 'device'),
  container_fs_writes_total: counter('Writes to a block device.', 'device'),
  container_fs_usage_bytes: gauge("The container's own layer, in bytes.", 'device'),
  container_fs_limit_bytes: gauge("Size of the file system of the container's layer, in bytes.", 'device'),
  container_fs_inodes_total: gauge("Inodes of the file system of the container's layer.", 'device'),
  container_fs_inodes_free: gauge("Free inodes of the file system of the container's layer.", 'device'),

  container_network_receive_bytes_total: counter('Bytes received.', 'interface'),
  container_network_receive_packets_total: counter('Packets received.', 'interface'),
  container_network_receive_packets_dropped_total: counter('Packets dropped while receiving.', 'interface'),
  container_network_receive_errors_total: counter('Errors while receiving.', 'interface'),
  container_network_transmit_bytes_total: counter('Bytes sent.', 'interface'),
  container_network_transmit_packets_total: counter('Packets sent.', 'interface'),
  container_network_transmit_packets_dropped_total: counter('Packets dropped while sending.', 'interface'),
  container_network_transmit_errors_total: counter('Errors while sending.', 'interface'),

  container_processes: gauge('Processes.'),
  container_threads: gauge('Threads.'),
  container_threads_max: gauge('Threads that are allowed; 0 is no limit.'),
  container_file_descriptors: gauge('Open file descriptors of all processes.'),
  container_sockets: gauge('Open sockets of all processes.'),
  container_ulimits_soft: gauge("Soft resource limit of the container's first process; 2^64-1 is unlimited.", 'ulimit'),

  container_spec_cpu_period: gauge('Period of the CPU quota, in microseconds.'),
  container_spec_cpu_quota: gauge('CPU time that is allowed in a period, in microseconds; 0 is no limit.'),
  container_spec_cpu_shares: gauge('Share of the CPU beside other containers.'),
  container_spec_memory_limit_bytes: gauge('Memory limit, in bytes; 0 is none.'),
  container_spec_memory_reservation_limit_bytes: gauge('Memory that is reclaimed last, in bytes; 0 is none.'),
  container_spec_memory_swap_limit_bytes: gauge('Limit of memory and swap together, in bytes; 0 is none.'),

  container_creation_time_seconds: gauge('When the container was created, in Unix seconds.'),
  container_start_time_seconds: gauge('When the container started, in Unix seconds.'),
  container_last_seen: gauge('When these figures were taken, in Unix seconds.'),
} satisfies Readonly<Record<string, MetricKind>>;

export type MetricName = keyof typeof METRICS;

/** CRI MetricDescriptor of each. */
export function metricDescriptors(): MetricDescriptor[] {
  return Object.entries(METRICS).map(([name, { help, labels }]) => ({ name, help, labelKeys: [...BASE_LABELS, ...labels] }));
}
