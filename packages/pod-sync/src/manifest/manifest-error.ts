/** One thing that is wrong, or worth knowing, in a manifest. */
export interface ManifestProblem {
  /** Path of the field in Kubernetes' notation, `spec.containers[1].env[0].valueFrom`; "" for a document as a whole. */
  readonly path: string;
  readonly message: string;
  /** Line in the manifest, from 1, where it is known. */
  readonly line?: number;
}

/** A manifest that cannot be run. The message has one line a problem: `SOURCE:LINE: PATH: what is wrong`. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';

  constructor(
    readonly source: string,
    readonly problems: readonly ManifestProblem[],
  ) {
    super(problems.map((problem) => formatProblem(source, problem)).join('\n'));
  }
}

/** `hello.yaml:12: spec.containers[0].image: expected a string, got 3`. */
export function formatProblem(source: string, problem: ManifestProblem): string {
  const place = problem.line === undefined ? source : `${source}:${problem.line}`;
  return [place, ...(problem.path === '' ? [] : [problem.path]), problem.message].join(': ');
}
