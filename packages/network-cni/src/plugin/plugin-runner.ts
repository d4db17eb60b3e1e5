/** One execution of a plugin. */
export interface PluginRequest {
  /** Absolute path of the executable. */
  readonly path: string;
  /** The whole environment; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** Ends the run early. */
  readonly signal?: AbortSignal;
  /** Milliseconds from the call; the plugin and its children are dead when they are over. */
  readonly timeoutMs: number;
}

/** How a plugin that was not stopped by its runner ended. */
export interface PluginExit {
  readonly stdout: string;
  /** The end of it where it was long. */
  readonly stderr: string;
  /** null when a signal ended it, or, without one, when its end is not known: another part of this process has waited for it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * The boundary to the processes. An implementation resolves when the plugin ended by itself, well or not, and rejects with a
 * PluginRunError when it could not be started or had to be stopped.
 */
export interface PluginRunner {
  /** The path of a plugin, or undefined when it is in none of the directories. Looked up on disk where this is absent. */
  find?(type: string, binDirs: readonly string[]): Promise<string | undefined>;
  run(request: PluginRequest): Promise<PluginExit>;
}

export type PluginRunFailure = 'spawn' | 'timeout' | 'aborted' | 'output-limit';

export class PluginRunError extends Error {
  override readonly name = 'PluginRunError';

  constructor(
    readonly failure: PluginRunFailure,
    message: string,
    /** What the plugin had written to stderr by then. */
    readonly stderr: string = '',
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
