import { TWO_NODE_SPECS } from './left-out.js';

export type SuiteName = 'sig-node' | 'all' | 'two-nodes' | 'node-conformance';

/** A choice of specs of one of Kubernetes' two test programs. */
export interface Suite {
  readonly name: SuiteName;
  /** For readers. */
  readonly title: string;
  /** `e2e.test` runs against a cluster; `e2e_node.test` starts a control plane and a kubelet itself. */
  readonly program: 'e2e.test' | 'e2e_node.test';
  /** Ginkgo's label filter. */
  readonly labels: string;
  /** How many specs it has in the version of Kubernetes that scripts/versions.env names, with those that are left out. */
  readonly count: number;
  /** Parts of the names of those that are meant. Default: all that the labels choose. */
  readonly specs?: readonly string[];
  /** How many nodes the cluster has. */
  readonly nodes: number;
}

export const SUITES: readonly Suite[] = [
  {
    name: 'sig-node',
    title: 'Conformance specs of sig-node that are neither slow nor serial',
    program: 'e2e.test',
    labels: 'Conformance && sig-node && !Slow && !Serial',
    count: 101,
    nodes: 1,
  },
  { name: 'all', title: 'All conformance specs', program: 'e2e.test', labels: 'Conformance', count: 462, nodes: 1 },
  { name: 'two-nodes', title: 'Conformance specs that need two nodes', program: 'e2e.test', labels: 'Conformance', count: 2, specs: TWO_NODE_SPECS, nodes: 2 },
  {
    name: 'node-conformance',
    title: 'Node conformance specs that are not serial, slow or behind a feature gate',
    program: 'e2e_node.test',
    labels: 'NodeConformance && !Slow && !Serial && !Flaky && Feature: isEmpty && FeatureGate: isEmpty',
    count: 426,
    nodes: 1,
  },
];

/** Throws on a name that is not there. */
export function suiteOf(name: string): Suite {
  const suite = SUITES.find((candidate) => candidate.name === name);
  if (suite === undefined) throw new Error(`no suite ${name}; there are ${SUITES.map((each) => each.name).join(', ')}`);
  return suite;
}
