/** A step that failed, in a form that passes between threads. */
export class StepError extends Error {
  override readonly name = 'StepError';

  constructor(
    readonly step: string,
    readonly code: string,
    readonly reason: string,
    /** The thread is stuck in a namespace that is not its own: it must not be used again. */
    readonly threadLost = false,
  ) {
    super(`${step}: ${reason}`);
  }
}

/** Does it; what it throws becomes a StepError of that name. */
export function step<T>(name: string, work: () => T, threadLost = false): T {
  try {
    return work();
  } catch (error) {
    throw new StepError(name, codeOf(error), error instanceof Error ? error.message : String(error), threadLost);
  }
}

/** The errno name of an error, or "". */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
