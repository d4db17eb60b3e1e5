import type { SuiteName } from './suite.js';

/** Specs that a suite does not run, and why. */
export interface LeftOut {
  readonly suites: readonly SuiteName[];
  readonly reason: string;
  /** Parts of their names; each must be in the name of a spec that the suite's labels choose. */
  readonly specs: readonly string[];
}

/** Parts of the names of conformance specs that need a second node. */
export const TWO_NODE_SPECS: readonly string[] = [
  'Conformance Tests should have at least two untainted nodes',
  'Daemon set should rollback without unnecessary restarts',
];

/** Everything that is not run. What is not named here is run. */
export const LEFT_OUT: readonly LeftOut[] = [
  { suites: ['all'], reason: 'they need a second node, and are run in the suite two-nodes', specs: TWO_NODE_SPECS },
  {
    suites: ['all'],
    reason: "it needs the image of Kubernetes' sample API server, whose module has no look-alike here",
    specs: ['Aggregator Should be able to support the 1.17 Sample API Server'],
  },
];

/** Why a suite leaves a spec out; undefined when it is run. */
export function reasonToLeaveOut(suite: SuiteName, spec: string): string | undefined {
  return partsLeftOut(suite).find(({ part }) => spec.includes(part))?.reason;
}

/** The parts of names that a suite leaves out. */
export function partsLeftOut(suite: SuiteName): { part: string; reason: string }[] {
  return LEFT_OUT.filter(({ suites }) => suites.includes(suite)).flatMap(({ specs, reason }) => specs.map((part) => ({ part, reason })));
}
