import { closeSync, openSync } from 'node:fs';
import { step } from './step-error.js';
import type { Syscalls } from './syscalls.js';

/**
 * Does `work` with the calling thread inside of the namespace that is pinned at `path`, then returns it to `home`, an open file of its
 * own one. Synchronous on purpose: nothing else may run on the thread while it is elsewhere.
 */
export function insideNetns<T>(system: Syscalls, home: number, path: string, work: () => T): T {
  const netns = step('open the pin', () => openSync(path, 'r'));
  try {
    step('enter the namespace', () => system.enterNet(netns));
    try {
      return work();
    } finally {
      step('return to the own namespace', () => system.enterNet(home), true);
    }
  } finally {
    closeSync(netns);
  }
}
