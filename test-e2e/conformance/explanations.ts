import type { SuiteName } from './suite.js';

/** Why specs differ between the runtimes, or pass on neither. */
export interface Explanation {
  readonly suites: readonly SuiteName[];
  readonly reason: string;
  /** Parts of their names. */
  readonly specs: readonly string[];
}

export const EXPLANATIONS: readonly Explanation[] = [
  {
    suites: ['all'],
    reason: "the API server answered too late (504, deadline exceeded) while the machine had other work: nothing of the runtime's",
    specs: [
      'CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of different groups',
      'CustomResourcePublishOpenAPI [Privileged:ClusterAdmin] works for multiple CRDs of same group but different versions',
      'OrderedNamespaceDeletion namespace deletion should delete pod first',
    ],
  },
  {
    suites: ['all'],
    reason:
      "nothing of the runtime's: the cluster of the record named an issuer that its API server's own certificate is not for (x509); containerd's plugin did not come to it",
    specs: ['ServiceAccountIssuerDiscovery should support OIDC discovery of service account issuer'],
  },
  {
    suites: ['all'],
    reason: 'the run was ended before all specs had their turn: the machine had other work at the same time',
    specs: [''],
  },
  {
    suites: ['node-conformance'],
    reason: 'wants the kubelet in a cgroup of its own in the summary; the kubelet finds none where it may not read /proc/1/ns/pid, as on the machine of the record',
    specs: ['Summary API when querying /stats/summary should report resource usage through the stats api'],
  },
];

/** Why a spec of a suite has not the outcome `passed` on both; undefined when nobody has said. */
export function explanationOf(suite: SuiteName, spec: string): string | undefined {
  return EXPLANATIONS.find(({ suites, specs }) => suites.includes(suite) && specs.some((part) => spec.includes(part)))?.reason;
}
