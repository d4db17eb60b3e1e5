import type { KnownDifference } from './comparison.js';

/** Where criquet and containerd's own plugin answer differently, and why they should. */
export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { commands: ['version'], at: /^Runtime(Name|Version)$/, why: 'each says who it is' },
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
    commands: ['stats', 'statsp'],
    at: /\.(psi\.|swap\.|io\.)/,
    why: 'the plugin has neither pressure nor swap here: cgroup v1',
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
  { commands: ['statsp'], at: /availableBytes\.value$/, why: 'the plugin says 0 where no limit makes anything unavailable' },
  {
    commands: ['metricdescs', 'metricsp'],
    at: /(^|\.)container_(hugetlb_|pressure_|spec_cpu_quota|spec_memory_reservation_limit_bytes|ulimits_soft)/,
    why: 'metrics that the plugin does not have',
  },
];
