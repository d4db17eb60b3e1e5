import type { Mount as WireMount } from '../gen/types/mount.js';
import type { Mount } from '../services/snapshots.js';

export function fromWireMount({ type, source, target, options }: WireMount): Mount {
  return { type, source, target, options };
}

export function toWireMount({ type, source, target, options }: Mount): WireMount {
  return { type, source, target, options: [...options] };
}
