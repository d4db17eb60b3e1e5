import type { KnownDifference } from './comparison.js';

/** Where criquet and containerd's own plugin answer differently, and why they should. */
export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { commands: ['version'], at: /^Runtime(Name|Version)$/, why: 'each says who it is' },
];
