/** How a command or an attach ended. */
export type CommandOutcome = { readonly exitCode: number } | { readonly error: string };

/**
 * What the error stream says. From version 4 on a `metav1.Status`, with the exit code as a cause; before, plain text for
 * a failure and nothing for a success.
 */
export function commandStatus(outcome: CommandOutcome, version: number): string {
  if ('exitCode' in outcome && outcome.exitCode === 0) return version >= 4 ? JSON.stringify({ metadata: {}, status: 'Success' }) : '';
  const failure =
    'exitCode' in outcome
      ? {
          message: `command terminated with non-zero exit code: ${outcome.exitCode}`,
          reason: 'NonZeroExitCode',
          details: { causes: [{ reason: 'ExitCode', message: String(outcome.exitCode) }] },
        }
      : { message: outcome.error, reason: 'InternalError', code: 500 };
  return version >= 4 ? JSON.stringify({ metadata: {}, status: 'Failure', ...failure }) : failure.message;
}
