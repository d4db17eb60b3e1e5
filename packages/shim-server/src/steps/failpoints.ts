import type { Place } from './registry.js';

/** `before` a step's deed; `after` it: the effect is there, and nobody has noted it yet. A deed that fails has no `after`. */
export type Moment = 'before' | 'after';

/** Where a test can make a call fail, wait or die. */
export interface Failpoints {
  /** Called at both moments of every step; what it throws is that step's failure. */
  reach(place: Place, moment: Moment): Promise<void> | void;
}

/** What production injects: nothing ever happens. */
export const noFailpoints: Failpoints = { reach: () => undefined };
