import { CriCallError } from '@criquet/cri-api';
import { Command, CommanderError } from 'commander';
import { addAuditCommand } from './audit/audit-command.js';
import { write, type CommandContext } from './command-context.js';
import { addConfigCommand } from './config/config-command.js';
import { exitCodeOf, ExitCode } from './exit-code.js';
import { OWN_VERSION } from './own-version.js';
import { addPodCommand } from './pod/pod-command.js';
import { addServeCommand } from './serve/serve-command.js';
import { addVersionCommand } from './version-command.js';

const EXIT_CODES = `
Exit codes: 0 done, 1 a call failed, 2 wrong usage, configuration or manifest, 3 no such pod or container,
4 time ran out, 5 the pod failed, 6 audit found what has no owner, 130 interrupted. \`pod exec\` exits with its command's code, with 127 when there is no such
command and with 126 when it cannot be run.`;

/** Builds the command. */
export function createProgram(context: CommandContext): Command {
  const program = new Command('criquet')
    .description('A CRI runtime on containerd and CNI, and pods from manifests on any CRI runtime')
    .version(`criquet ${OWN_VERSION}`)
    .addHelpText('after', EXIT_CODES)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
    });
  addServeCommand(program, context);
  addPodCommand(program, context);
  addConfigCommand(program, context);
  addAuditCommand(program, context);
  addVersionCommand(program, context);
  return program;
}

/** Runs the command with the words of a command line. @returns the exit code; messages have been written. */
export async function runCommand(words: readonly string[], context: CommandContext): Promise<number> {
  try {
    await createProgram(context).parseAsync([...words], { from: 'user' });
    return ExitCode.ok;
  } catch (error) {
    // Commander has written its message; what it calls 1 is wrong usage.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    const message = messageOf(error, context.signal);
    if (message !== '') await write(context.stderr, `criquet: ${message}\n`);
    return context.signal.aborted ? ExitCode.interrupted : exitCodeOf(error);
  }
}

function messageOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'interrupted';
  if (error instanceof Error && error.name === 'TimeoutError') return 'time ran out (--timeout)';
  if (error instanceof CriCallError && error.connectionFailed) {
    return `${error.call}: ${error.details}; see --runtime-endpoint and CONTAINER_RUNTIME_ENDPOINT`;
  }
  return error instanceof Error ? error.message : String(error);
}
