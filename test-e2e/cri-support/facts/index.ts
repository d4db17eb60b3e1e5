import type { Facts } from '../facts.js';
import { CALLS } from './calls.js';
import { CHECKPOINT } from './checkpoint.js';
import { CONTAINER } from './container.js';
import { ENUMS } from './enums.js';
import { EVENTS_AND_METRICS } from './events-and-metrics.js';
import { IMAGE } from './image.js';
import { POD_SANDBOX } from './pod-sandbox.js';
import { RUNTIME } from './runtime.js';
import { SECURITY } from './security.js';
import { STATS } from './stats.js';
import { STREAMING } from './streaming.js';
import { WINDOWS } from './windows.js';

/** Everything that is known; a message stands in one file. */
export const FACTS: Facts = {
  calls: CALLS,
  enums: ENUMS,
  messages: { ...RUNTIME, ...POD_SANDBOX, ...CONTAINER, ...SECURITY, ...STREAMING, ...STATS, ...EVENTS_AND_METRICS, ...CHECKPOINT, ...IMAGE, ...WINDOWS },
};
