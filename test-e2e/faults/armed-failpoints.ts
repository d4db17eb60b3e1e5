import { setTimeout as pause } from 'node:timers/promises';
import { ShimError, type Failpoints, type Moment, type Place } from '@criquet/shim-server/testing';
import type { ArmedFailpoint, FailpointFiles } from './failpoint-file.js';

const LOOK_MS = 10;

/** The failpoints of a daemon under test. What is armed is read at every step, so that a running daemon can be armed and disarmed. */
export class ArmedFailpoints implements Failpoints {
  private readonly spent: Set<string>;

  /** @param kill ends the process at once; it does not return */
  constructor(
    private readonly files: FailpointFiles,
    private readonly kill: () => void,
  ) {
    this.spent = new Set(files.readHits());
  }

  async reach(place: Place, moment: Moment): Promise<void> {
    const armed = this.files.readArmed().find((failpoint) => failpoint.place === place && failpoint.moment === moment && !this.isSpent(failpoint));
    if (armed === undefined) return;
    this.spent.add(armed.id);
    this.files.addHit(armed.id);
    const { action } = armed;
    switch (action.do) {
      case 'kill':
        return this.kill();
      case 'fail':
        throw new ShimError(action.code, action.message);
      case 'delay':
        await pause(action.milliseconds);
        return;
      case 'hang':
        while (this.files.readArmed().some(({ id }) => id === armed.id)) await pause(LOOK_MS);
    }
  }

  private isSpent({ id, times }: ArmedFailpoint): boolean {
    return times === 'once' && this.spent.has(id);
  }
}
