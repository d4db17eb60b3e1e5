import { checkpointScenarios } from './checkpoints.js';
import { commandScenarios } from './commands.js';
import { containerScenarios } from './containers.js';
import { hungShimScenarios } from './hung-shims.js';
import { imageScenarios } from './images.js';
import { podScenarios } from './pods.js';
import { recoveryScenarios } from './recovery.js';
import type { Scenario } from '../scenario.js';

/** Every way in which the daemon is killed. */
export const scenarios: readonly Scenario[] = [
  ...podScenarios,
  ...containerScenarios,
  ...commandScenarios,
  ...imageScenarios,
  ...recoveryScenarios,
  ...checkpointScenarios,
  ...hungShimScenarios,
];
