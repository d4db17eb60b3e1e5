import { MetricType, type Metric } from '@criquet/cri-api';
import { test } from 'tap';
import { writeTree } from '../stats/cgroup-fixture.js';
import { FixtureNode } from './node-fixture.js';
import { IMAGE, NAMESPACE } from './shim-harness.js';

const LIMITS = `Limit                     Soft Limit           Hard Limit           Units
Max processes             unlimited            unlimited            processes
Max open files            1024                 4096                 files
`;

/** Value, type and whether it has the time of a shared sample, by name and own labels. */
function table(metrics: readonly Metric[]): Record<string, bigint | undefined> {
  return Object.fromEntries(metrics.map(({ name, labelValues, value }) => [[name, ...labelValues.slice(6)].join(' '), value?.value]));
}

test('metrics of a pod and its container', async (t) => {
  const node = await FixtureNode.start(t);
  const { runtime } = node.shim.cri;
  const pod = await node.shim.runPod({ linux: { cgroupParent: '/kubepods/pod-1' } });
  const containerId = await node.shim.startContainer(pod, { linux: { resources: { cpuShares: 512n } } });
  await node.shim.createContainer(pod, { metadata: { name: 'second', attempt: 0 } });
  await node.cgroup(`kubepods/pod-1/${containerId}`);
  await node.network(pod);
  await node.openFiles(4711, ['/dev/null', 'socket:[1]', 'pipe:[2]']);
  await node.openFiles(4712, ['socket:[3]']);
  await writeTree(node.root, { [`proc/${node.shim.containerd.process(NAMESPACE, containerId).pid}/limits`]: LIMITS });
  const { podMetrics } = await runtime.listPodSandboxMetrics({});
  t.equal(podMetrics.length, 1);
  const [metrics] = podMetrics;
  t.equal(metrics?.podSandboxId, pod);
  t.same(metrics?.containerMetrics.map((container) => container.containerId), [containerId], 'only what runs');
  t.same(table(metrics?.metrics ?? []), {
    'container_network_receive_bytes_total eth0': 1000n,
    'container_network_receive_packets_total eth0': 10n,
    'container_network_receive_errors_total eth0': 1n,
    'container_network_receive_packets_dropped_total eth0': 2n,
    'container_network_transmit_bytes_total eth0': 2000n,
    'container_network_transmit_packets_total eth0': 20n,
    'container_network_transmit_errors_total eth0': 3n,
    'container_network_transmit_packets_dropped_total eth0': 4n,
    'container_network_receive_bytes_total net1': 7n,
    'container_network_receive_packets_total net1': 1n,
    'container_network_receive_errors_total net1': 0n,
    'container_network_receive_packets_dropped_total net1': 0n,
    'container_network_transmit_bytes_total net1': 8n,
    'container_network_transmit_packets_total net1': 1n,
    'container_network_transmit_errors_total net1': 0n,
    'container_network_transmit_packets_dropped_total net1': 0n,
  });
  const all = metrics?.containerMetrics[0]?.metrics ?? [];
  t.match(table(all), {
    container_cpu_usage_seconds_total: 5n,
    container_cpu_user_seconds_total: 3n,
    container_cpu_system_seconds_total: 2n,
    container_cpu_cfs_periods_total: 40n,
    container_cpu_cfs_throttled_periods_total: 4n,
    container_cpu_cfs_throttled_seconds_total: 1n,
    container_memory_usage_bytes: 100_000_000n,
    container_memory_working_set_bytes: 80_000_000n,
    container_memory_max_usage_bytes: 150_000_000n,
    container_memory_rss: 60_000_000n,
    container_memory_cache: 30_000_000n,
    container_memory_mapped_file: 7_000_000n,
    container_memory_kernel_usage: 9_000_000n,
    container_memory_swap: 1_000_000n,
    container_memory_total_active_file_bytes: 10_000_000n,
    container_memory_total_inactive_file_bytes: 20_000_000n,
    container_memory_failcnt: 7n,
    container_oom_events_total: 1n,
    'container_memory_failures_total pgfault container': 900n,
    'container_memory_failures_total pgmajfault hierarchy': 9n,
    'container_hugetlb_usage_bytes 2MB': 4_194_304n,
    container_pressure_cpu_waiting_seconds_total: 0n,
    container_pressure_io_stalled_seconds_total: 0n,
    'container_blkio_device_usage_total /dev/sda 8 0 Read': 90_430_464n,
    'container_blkio_device_usage_total 8:16 8 16 Write': 314_773_504n,
    'container_fs_reads_bytes_total /dev/sda': 90_430_464n,
    'container_fs_writes_bytes_total /dev/sda': 299_008_000n,
    'container_fs_reads_total /dev/sda': 8950n,
    'container_fs_writes_total /dev/sda': 1252n,
    container_processes: 2n,
    container_threads: 5n,
    container_threads_max: 64n,
    container_file_descriptors: 4n,
    container_sockets: 2n,
    'container_ulimits_soft max_open_files': 1024n,
    container_spec_cpu_period: 100_000n,
    container_spec_cpu_quota: 20_000n,
    container_spec_cpu_shares: 512n,
    container_spec_memory_limit_bytes: 200_000_000n,
    container_spec_memory_reservation_limit_bytes: 50_000_000n,
    container_spec_memory_swap_limit_bytes: 204_000_000n,
  });
  const one = (name: string) => all.find((metric) => metric.name === name);
  t.same(one('container_cpu_usage_seconds_total')?.labelValues, ['app', `/kubepods/pod-1/${containerId}`, IMAGE, containerId, 'ns', 'pod']);
  t.equal(one('container_fs_usage_bytes')?.labelValues[6], '/dev/sda1');
  t.ok((one('container_fs_limit_bytes')?.value?.value ?? 0n) > 0n);
  t.ok((one('container_fs_inodes_total')?.value?.value ?? 0n) >= (one('container_fs_inodes_free')?.value?.value ?? 1n));
  const now = BigInt(Math.floor(Date.now() / 1000));
  for (const name of ['container_start_time_seconds', 'container_last_seen']) t.ok(now - (one(name)?.value?.value ?? 0n) < 10n, name);
  t.equal(one('container_cpu_usage_seconds_total')?.metricType, MetricType.COUNTER);
  t.equal(one('container_memory_rss')?.metricType, MetricType.GAUGE);
  t.ok((one('container_cpu_usage_seconds_total')?.timestamp ?? 0n) > 0n, 'shared between calls: with its time');
  t.equal(one('container_sockets')?.timestamp, 0n, 'taken now');
  const streamed = [];
  for await (const reply of runtime.streamPodSandboxMetrics({})) streamed.push(...reply.podSandboxMetrics);
  t.same(streamed.map(({ podSandboxId }) => podSandboxId), [pod]);
});

test('every metric has a descriptor with as many labels', async (t) => {
  const node = await FixtureNode.start(t);
  const { descriptors } = await node.shim.cri.runtime.listMetricDescriptors({});
  t.equal(new Set(descriptors.map(({ name }) => name)).size, descriptors.length);
  t.ok(descriptors.every(({ help, labelKeys }) => help !== '' && labelKeys.length >= 6));
  const pod = await node.shim.runPod();
  const containerId = await node.shim.startContainer(pod);
  await node.cgroup(`${NAMESPACE}/${containerId}`);
  await node.network(pod);
  const { podMetrics } = await node.shim.cri.runtime.listPodSandboxMetrics({});
  const labels = new Map(descriptors.map(({ name, labelKeys }) => [name, labelKeys.length]));
  for (const { name, labelValues } of podMetrics.flatMap(({ metrics, containerMetrics }) => [...metrics, ...containerMetrics.flatMap((c) => c.metrics)])) {
    t.equal(labels.get(name), labelValues.length, name);
  }
});

test('limits that are not there are 0, and a maximum that the kernel does not keep is what is in use', async (t) => {
  const node = await FixtureNode.start(t);
  const pod = await node.shim.runPod();
  const containerId = await node.shim.startContainer(pod);
  const unlimited = { 'cpu.max': 'max 100000\n', 'memory.max': 'max\n', 'memory.low': '0\n', 'memory.swap.max': 'max\n', 'pids.max': 'max\n', 'memory.peak': '' };
  await node.cgroup(`${NAMESPACE}/${containerId}`, unlimited);
  const { podMetrics } = await node.shim.cri.runtime.listPodSandboxMetrics({});
  t.match(table(podMetrics[0]?.containerMetrics[0]?.metrics ?? []), {
    container_spec_cpu_quota: 0n,
    container_spec_cpu_shares: 2597n,
    container_spec_memory_limit_bytes: 0n,
    container_spec_memory_reservation_limit_bytes: 0n,
    container_spec_memory_swap_limit_bytes: 0n,
    container_threads_max: 0n,
    container_memory_max_usage_bytes: 100_000_000n,
  });
});
