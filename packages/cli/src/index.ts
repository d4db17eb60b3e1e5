/** The `criquet` command as a function, for programs that embed it. */
export { createProgram, runCommand } from './program.js';
export { ExitCode } from './exit-code.js';
export type { CommandContext } from './command-context.js';
