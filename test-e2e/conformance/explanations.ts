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
    suites: ['node-conformance'],
    reason: 'wants the kubelet in a cgroup of its own in the summary; the kubelet finds none where it may not read /proc/1/ns/pid, as on the machine of the record',
    specs: ['Summary API when querying /stats/summary should report resource usage through the stats api'],
  },
  {
    suites: ['node-conformance'],
    reason: 'a privileged container adds a network device of the kind dummy, which the kernel of the machine of the record was built without',
    specs: ['PrivilegedPod should enable privileged commands'],
  },
  {
    suites: ['node-conformance'],
    reason: 'it is for runtimes without recursive read-only mounts, and both have them',
    specs: ['Mount recursive read-only when the runtime does not support recursive read-only mounts'],
  },
];

/** Parts of names that no difference of these has: they explain nothing any more. */
export function staleExplanations(differences: readonly { readonly suite: SuiteName; readonly name: string }[]): string[] {
  return EXPLANATIONS.flatMap(({ suites, specs }) =>
    suites.flatMap((suite) => specs.filter((part) => part === '' || !differences.some((each) => each.suite === suite && each.name.includes(part)))),
  );
}

/** Why a spec of a suite has not the outcome `passed` on both; undefined when nobody has said. */
export function explanationOf(suite: SuiteName, spec: string): string | undefined {
  return EXPLANATIONS.find(({ suites, specs }) => suites.includes(suite) && specs.some((part) => spec.includes(part)))?.reason;
}
