import type { KnownDifference } from './comparison.js';

/** Where criquet and containerd's own plugin answer differently, and why they should. */
export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { commands: ['version'], at: /^Runtime(Name|Version)$/, why: 'each says who it is' },
  {
    commands: ['info'],
    at: /^(config|containerd|streaming|node|handlers|checkpoint|eventLoopDelay)\.|^golang$/,
    why: 'each shows its own configuration, and what it is built on',
  },
  {
    commands: ['info'],
    at: /^cniconfig\.(Networks\{cni-loopback\}|Networks\{<network>\}\.Config\.(File|Source|Plugins\[\d\]\.(Source|Network\.)))/,
    why: 'criquet brings up the loopback device itself, and shows each plugin with all of its configuration and the file it is from',
  },
  {
    commands: ['info'],
    at: /^status\.conditions\{ContainerdHasNoDeprecationWarnings\}/,
    why: "containerd's own condition",
    sometimes: true,
  },
  {
    commands: ['info'],
    at: /^status\.conditions\{CheckpointReady\}/,
    why: "criquet's own condition: what stands in the way of checkpoints",
  },
  {
    commands: ['info'],
    at: /^features\.(mount_options|user_namespaces_host_network)$|^runtimeHandlers\[\d\]\.features\./,
    why: 'each tells what it can do',
    sometimes: true,
  },
  {
    commands: ['images', 'inspecti'],
    at: /^(images\[\d\]|status)\.spec\./,
    why: 'Image.spec is left out by the plugin; criquet names the image by its id, as containers do',
  },
  {
    commands: ['imagefsinfo'],
    at: /^status\.containerFilesystems/,
    why: 'the plugin leaves it empty; criquet says that writable layers are on the same file system, which it knows',
  },
  {
    commands: ['inspect', 'inspect updated'],
    at: /^status\.image\.userSpecifiedImage$/,
    why: 'criquet gives the image as it was asked for, with all of its fields',
  },
  {
    commands: ['inspect', 'inspect updated'],
    at: /^info\.runtimeSpec\.(mounts\{.*\}\.source|linux\.namespaces\{network\}\.path|ociVersion)$/,
    why: "each has its own files; criquet names the pod's network namespace by its pin, which outlives the pause process",
  },
  {
    commands: ['inspect', 'inspect updated'],
    at: /^info\.runtimeSpec\.mounts\{\/dev\/shm\}\.options\[[345]\]$/,
    why: "criquet keeps nosuid, nodev and noexec of the pod's shared memory, which a bind mount that names any option loses otherwise",
  },
  {
    commands: ['inspect', 'inspect updated'],
    at: /^status\.resources\.linux\.memorySwapLimitInBytes$/,
    why: "criquet gives the resources as they were set, where 0 means no swap; the plugin gives the kernel's sum of memory and swap",
    sometimes: true,
  },
  {
    commands: ['inspect', 'inspect updated'],
    at: /^info\.config\.linux\.resources\.(cpu_quota|memory_limit_in_bytes)$/,
    why: 'criquet shows the configuration with its updates',
  },
  {
    commands: ['inspect', 'inspect updated', 'ps'],
    at: /^(status|containers\[\d\])\.(imageId|stopSignal)$/,
    why: "containerd 2.1's plugin does not have these fields yet",
    sometimes: true,
  },
  {
    commands: ['inspectp', 'inspectp stopped'],
    at: /^info\.runtimeSpec\.linux\.maskedPaths\{\/proc\/interrupts\}/,
    why: 'the list of 2.1 is older',
    sometimes: true,
  },
  {
    commands: ['inspectp', 'inspectp stopped'],
    at: /^info\.(image|snapshotKey|snapshotter|runtimeSpec\.(process\.|annotations\..*image-name$|mounts\{\/etc\/resolv\.conf\}))/,
    why: "criquet's pause program is built in: it has no image, no snapshot, no capabilities and no use for resolv.conf",
  },
  {
    commands: ['inspectp', 'inspectp stopped'],
    at: /^info\.(netNamespacePath|runtimeHandler|cniResult\.Interfaces\.(lo\.|eth0\.Sandbox)|runtimeSpec\.(mounts\{.*\}\.source|linux\.namespaces\{network\}\.path|ociVersion)$)/,
    why: 'each has its own files and brings up the loopback device its own way',
  },
  {
    commands: ['inspectp', 'inspectp stopped'],
    at: /^info\.sandboxMetadata\.Metadata\.(CNIResult\.Interfaces\.(lo\.|eth0\.Sandbox)|NetNSPath$)/,
    why: 'the same once more',
  },
  {
    commands: ['inspectp stopped'],
    at: /^info\.(sandboxMetadata\.Metadata\.(CNIResult\.|IP$)|cniResult\.)/,
    why: "criquet shows no network once the pod is detached",
  },
  {
    commands: ['stats', 'statsp'],
    at: /\.(psi\.|swap\.|io\.)/,
    why: 'the plugin has neither pressure nor swap here: cgroup v1',
    sometimes: true,
  },
  {
    commands: ['stats', 'statsp'],
    at: /\.cpu\.usageNanoCores/,
    why: "a rate needs two looks, which each takes at its own times; containerd 2.1's plugin does not tell a pod's",
    sometimes: true,
  },
  {
    commands: ['statsp'],
    at: /^stats\[0\]\.linux\.network\.(timestamp|interfaces)/,
    why: "containerd 2.1's plugin looks at the network more seldom",
    sometimes: true,
  },
  {
    commands: ['images after prune'],
    at: /^rows$/,
    why: "the plugin's sandboxes need an image, which it pins; criquet's pause program is built in",
  },
  {
    commands: ['statsp'],
    at: /writableLayer\.timestamp$/,
    why: "the plugin's figures of a young container's layer are of no time yet",
    sometimes: true,
  },
  { commands: ['statsp'], at: /availableBytes\.value$/, why: 'the plugin says 0 where no limit makes anything unavailable', sometimes: true },
  {
    commands: ['metricsp'],
    at: /\.container_(blkio_device_usage|fs_(reads|writes)(_bytes)?)_total$/,
    why: 'the kernel counts them from the first time a container uses a disk, and what one reads may be in memory already',
    sometimes: true,
  },
  {
    commands: ['metricdescs', 'metricsp'],
    at: /(^|\.)container_(cpu_cfs_burst_|creation_time_|memory_(events_|file_|pgs|workingset_refault_)|hugetlb_|pressure_|spec_cpu_quota|spec_memory_reservation_limit_bytes|ulimits_soft)/,
    why: 'metrics that the plugin does not have',
    sometimes: true,
  },
];
