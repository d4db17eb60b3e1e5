import type { Test } from '../harness/on-each-engine.js';
import type { TestNode } from '../harness/node.js';
import type { FailpointAction } from './failpoint-file.js';
import type { KillPoint } from './places.js';
import type { Moment, Need, Place } from '@criquet/shim-server/testing';

/** One call that the daemon will not survive. */
export interface DoomedCall {
  /** Begins it; how it ends does not matter. */
  call(): Promise<unknown>;
  /** After the restart: what the kubelet does when it has not heard of the call's end. Rejects when that does not work. */
  again(): Promise<unknown>;
}

/** A step that fails whenever it is reached. */
export interface FailingStep {
  readonly place: Place;
  readonly moment?: Moment;
  readonly action?: FailpointAction;
}

export interface Prepared {
  readonly calls: readonly DoomedCall[];
  /** What is to fail beside, so that the calls come where they are to die. */
  readonly failing?: readonly FailingStep[];
  /** Asserts what must be so after the restart, before anything is called again. */
  check?(t: Test, points: readonly KillPoint[]): Promise<void>;
  /** After everything was removed over CRI: takes away what is no leak, for example an image. */
  end?(): Promise<void>;
}

/** Calls of one kind, and the places that each of them goes through in this order or side by side. */
export interface Scenario {
  readonly name: string;
  readonly places: readonly Place[];
  /** What the steps of these places need to have something to do. */
  readonly provides?: readonly Need[];
  /** Calls at once, each of which dies elsewhere. Default 10. */
  readonly atOnce?: number;
  /** Milliseconds until all calls have come to where they die. Default 20 s. */
  readonly patienceMs?: number;
  /** Whether it takes long and belongs to a whole run only. */
  readonly slow?: boolean;
  /** Makes what `count` calls are about, with nothing armed. */
  prepare(node: TestNode, count: number): Promise<Prepared>;
}
