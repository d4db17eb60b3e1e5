/** One thing that is wrong in the configuration. */
export interface ConfigProblem {
  /** The file, or the flag (`--listen`), that it stands in. */
  readonly source: string;
  /** The key with its tables (`containerd.address`); absent when the file as a whole cannot be read. */
  readonly key?: string;
  /** What is wrong and what is allowed instead. */
  readonly message: string;
}

/** The configuration cannot be used. The message has one line a problem: `FILE: KEY: what is wrong, what is allowed`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(
    readonly problems: readonly ConfigProblem[],
    options?: ErrorOptions,
  ) {
    super(problems.map(line).join('\n'), options);
  }
}

function line(problem: ConfigProblem): string {
  return [problem.source, ...(problem.key === undefined ? [] : [problem.key]), problem.message].join(': ');
}
