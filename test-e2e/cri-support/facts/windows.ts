import { windows, type MessageFacts } from '../facts.js';

/** Messages that mean something on Windows only. */
export const WINDOWS = {
  WindowsPodSandboxConfig: windows('security_context'),
  WindowsSandboxSecurityContext: windows('run_as_username', 'credential_spec', 'host_process', 'namespace_options'),
  WindowsNamespaceOption: windows('network'),
  WindowsContainerConfig: windows('resources', 'security_context'),
  WindowsContainerSecurityContext: windows('run_as_username', 'credential_spec', 'host_process'),
  WindowsContainerResources: windows('cpu_shares', 'cpu_count', 'cpu_maximum', 'memory_limit_in_bytes', 'rootfs_size_in_bytes', 'affinity_cpus'),
  WindowsCpuGroupAffinity: windows('cpu_mask', 'cpu_group'),
  WindowsPodSandboxStats: windows('cpu', 'memory', 'network', 'process', 'containers'),
  WindowsContainerStats: windows('attributes', 'cpu', 'memory', 'writable_layer'),
  WindowsCpuUsage: windows('timestamp', 'usage_core_nano_seconds', 'usage_nano_cores'),
  WindowsMemoryUsage: windows('timestamp', 'working_set_bytes', 'available_bytes', 'page_faults', 'commit_memory_bytes'),
  WindowsFilesystemUsage: windows('timestamp', 'fs_id', 'used_bytes'),
  WindowsNetworkUsage: windows('timestamp', 'default_interface', 'interfaces'),
  WindowsNetworkInterfaceUsage: windows('name', 'rx_bytes', 'rx_packets_dropped', 'tx_bytes', 'tx_packets_dropped'),
  WindowsProcessUsage: windows('timestamp', 'process_count'),
} satisfies MessageFacts;
