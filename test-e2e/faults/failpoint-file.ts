import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Moment, Place } from '@criquet/shim-server/testing';

/** What happens at a failpoint. */
export type FailpointAction =
  /** The daemon kills itself with SIGKILL. */
  | { readonly do: 'kill' }
  /** The step fails with a gRPC code and a message. */
  | { readonly do: 'fail'; readonly code: number; readonly message: string }
  | { readonly do: 'delay'; readonly milliseconds: number }
  /** The call stands there until it is disarmed. */
  | { readonly do: 'hang' };

export interface ArmedFailpoint {
  /** Unique among those of a directory for its life: `once` is once for an id, also after a restart of the daemon. */
  readonly id: string;
  readonly place: Place;
  readonly moment: Moment;
  readonly times: 'once' | 'always';
  readonly action: FailpointAction;
}

/** Where a daemon with failpoints and its test meet: a file that says what is armed, and one to which the daemon adds what was hit. */
export class FailpointFiles {
  private readonly armedFile: string;
  readonly hitsFile: string;

  constructor(directory: string) {
    this.armedFile = join(directory, 'failpoints.json');
    this.hitsFile = join(directory, 'failpoints.hits');
  }

  readArmed(): ArmedFailpoint[] {
    return JSON.parse(readOrNothing(this.armedFile) || '[]') as ArmedFailpoint[];
  }

  /** Replaces everything that was armed; whole or not at all for who reads meanwhile. */
  writeArmed(failpoints: readonly ArmedFailpoint[]): void {
    const beside = `${this.armedFile}.new`;
    writeFileSync(beside, JSON.stringify(failpoints));
    renameSync(beside, this.armedFile);
  }

  /** Ids in the order in which they were hit. */
  readHits(): string[] {
    return readOrNothing(this.hitsFile).split('\n').filter((line) => line !== '');
  }

  /** Written before the action: a daemon that kills itself has said so. */
  addHit(id: string): void {
    writeFileSync(this.hitsFile, `${id}\n`, { flag: 'a' });
  }
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
