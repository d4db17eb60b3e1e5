/** What came of a test with something dropped; `red` is as it should be. */
export type Outcome = 'red' | 'stayed green' | 'is never on the wire' | 'does not exist' | 'fails by itself' | 'runs no test';

/** What `run-trials.js` is to do: one test of one compiled file, as it is and then once with each thing dropped. */
export interface TrialRequest {
  /** Absolute. */
  readonly file: string;
  readonly name: string;
  readonly dropped: readonly string[];
}

/** What it says on descriptor 3, a line of JSON each: a trial begins, a trial has ended, the test cannot be tried at all. */
export type TrialReport =
  | { readonly begins: string }
  | { readonly dropped: string; readonly outcome: Outcome }
  | { readonly hopeless: Outcome };
