import type { Engine } from '../harness/environment.js';
import type { Runtime } from '../harness/node.js';

/** What is run on a node with its own kernel, one step after another. */
export interface GuestJob {
  readonly steps: readonly GuestStep[];
}

/** A run of critest on a node of its own, or of one compiled suite of this package. Results are named after the step. */
export type GuestStep =
  | {
      readonly kind: 'critest';
      readonly name: string;
      readonly engine: Engine;
      readonly runtime: Runtime;
      /** Names of specs; absent: all but the benchmarks. */
      readonly specs?: readonly string[];
      /** Regular expression of names; only where `specs` is absent. */
      readonly focus?: string;
      /** Ginkgo processes: most specs wait. Default 1. */
      readonly parallel?: number;
    }
  | {
      readonly kind: 'suite';
      readonly name: string;
      readonly engine: Engine;
      /** Compiled test file below `test-e2e/dist`. */
      readonly file: string;
    };

/** How a step went; what it found is in `NAME.json` (critest) or `NAME.tap`. */
export interface StepOutcome {
  readonly name: string;
  readonly seconds: number;
  /** Why it could not be carried out; absent when it was, whatever it found. */
  readonly error?: string;
}

/** Where the guest has the job's disk and the one for results. */
export const GUEST = { job: '/job', results: '/results', nodes: '/srv' } as const;

/** Files of the results disk, beside those of the steps. */
export const RESULT_FILES = { outcomes: 'outcomes.json', exitCode: 'exit-code' } as const;

/** What a job prints on the console to lose its power, in a guest that is run with `powerCut`. */
export const POWER_CUT = 'criquet-e2e: cut the power of this node';

/** The suite of `deploy/node`. */
export const KUBELET_SWITCH = 'vm/in-guest/kubelet-switch.test.js';

/** The suite whose node loses its power. */
export const NODE_REBOOT = 'vm/in-guest/node-reboot.test.js';

/** Suites that need the kubelet, and get what `scripts/release-tree` makes as `release` on the job's disk. */
export const ON_RELEASE_TREE: readonly string[] = [KUBELET_SWITCH, NODE_REBOOT];
