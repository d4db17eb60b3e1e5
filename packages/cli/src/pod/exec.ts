import type { Command } from 'commander';
import { write, type CommandContext } from '../command-context.js';
import { CommandError, ExitCode } from '../exit-code.js';
import { addClientOptions, openSession, POD_ARGUMENT, type ClientOptions } from './client-options.js';
import { execExitCode } from './exec-exit-code.js';

interface ExecOptions extends ClientOptions {
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

/** What criquet returns of a command's output by default (exec_sync_output_limit); other runtimes cut at 16 MiB. */
const OUTPUT_LIMIT = 15 * 2 ** 20;
const OUTPUT_WARNING =
  'criquet: warning: the output has 15 MiB, where a runtime stops passing it on (criquet: exec_sync_output_limit) and cannot say so: it may be incomplete\n';

/** `criquet pod exec POD -- COMMAND`. */
export function addExecCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('exec')
    .description("run a command in a container (CRI ExecSync); exits with the command's exit code")
    .argument('<POD>', POD_ARGUMENT)
    .argument('<COMMAND...>', 'the command and its arguments, after "--"')
    .option('-c, --container <NAME>', "default: the pod's first container")
    .option('-i, --stdin', 'not available yet')
    .option('-t, --tty', 'not available yet')
    .passThroughOptions();
  addClientOptions(command).action((name: string, words: string[], _options: object, self: Command) =>
    exec(name, words[0] === '--' ? words.slice(1) : words, self.optsWithGlobals<ExecOptions>(), context),
  );
}

async function exec(name: string, command: readonly string[], options: ExecOptions, context: CommandContext): Promise<void> {
  if (options.stdin || options.tty) {
    const advice = 'use `crictl exec -it CONTAINER_ID` with a runtime that streams';
    throw new CommandError(`interactive exec (-i, -t) is not available yet: ${advice}, or leave the flags out`, ExitCode.usage);
  }
  using session = openSession(options, context, { defaultTimeoutMs: 0 });
  const timeoutMs = options.timeout ?? 0;
  const running = session.pods.exec(name, command, {
    // The runtime kills the command at its time; cancelling the call would leave it running.
    signal: context.signal,
    timeoutSeconds: Math.ceil(timeoutMs / 1000),
    ...(options.container === undefined ? {} : { container: options.container }),
  });
  const result = await running.catch((error: unknown) => {
    const exitCode = execExitCode(error);
    throw exitCode === undefined ? error : new CommandError((error as Error).message, exitCode, { cause: error });
  });
  await write(context.stdout, result.stdout);
  await write(context.stderr, result.stderr);
  if (result.stdout.length + result.stderr.length >= OUTPUT_LIMIT) await write(context.stderr, OUTPUT_WARNING);
  if (result.exitCode !== 0) throw new CommandError('', result.exitCode);
}
