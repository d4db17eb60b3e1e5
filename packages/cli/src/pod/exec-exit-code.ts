import { CriCallError } from '@criquet/cri-api';

/** A shell's exit codes for a command that is not there and for one that cannot be run. */
const NOT_FOUND = 127;
const CANNOT_RUN = 126;

/** How runc and crun word it; CRI has no field for it, and runtimes pass their words on. */
const WORDINGS: readonly (readonly [RegExp, number])[] = [
  [/\bexec: "[^"]*": .*(executable file not found|no such file or directory)/, NOT_FOUND],
  [/\bexecutable file `[^`]*` not found/, NOT_FOUND],
  [/\bexec: "[^"]*": .*(permission denied|is a directory|exec format error)/, CANNOT_RUN],
  [/\bopen executable: Permission denied/, CANNOT_RUN],
];

/** The exit code of a command that the runtime could not run; undefined when something else failed. */
export function execExitCode(error: unknown): number | undefined {
  if (!(error instanceof CriCallError) || error.call !== 'ExecSync') return undefined;
  return WORDINGS.find(([wording]) => wording.test(error.details))?.[1];
}
