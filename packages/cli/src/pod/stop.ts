import { InvalidArgumentError, type Command } from 'commander';
import { StepPrinter } from './step-printer.js';
import { write, type CommandContext } from '../command-context.js';
import { addClientOptions, openSession, POD_ARGUMENT, type ClientOptions, type Session } from './client-options.js';

interface StopOptions extends ClientOptions {
  readonly grace?: number;
  readonly force?: boolean;
  readonly all?: boolean;
  readonly quiet?: boolean;
}

/** `criquet pod stop POD…`. */
export function addStopCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('stop')
    .description("stop pods: their containers, then their sandboxes; what ran stays to be looked at until rm")
    .argument('<POD...>', POD_ARGUMENT);
  addStopOptions(command).action((names: string[], _options: object, self: Command) =>
    forEach(names, self.optsWithGlobals<StopOptions>(), context, ({ pods, signal }, name, grace) => pods.stop(name, { signal, ...grace })),
  );
}

/** `criquet pod rm [-f] POD…`. */
export function addRmCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('rm')
    .description('remove pods that are stopped or have finished, with their volumes and logs')
    .argument('[POD...]', POD_ARGUMENT)
    .option('-f, --force', 'stop pods that run')
    .option('-a, --all', 'all pods of the endpoint');
  addStopOptions(command).action(async (names: string[], _options: object, self: Command) => {
    const options = self.optsWithGlobals<StopOptions>();
    if (names.length === 0 && !options.all) return self.error("error: missing required argument 'POD'", { exitCode: 2 });
    const chosen = options.all ? await allNames(options, context) : names;
    return forEach(chosen, options, context, ({ pods, signal }, name, grace) =>
      pods.remove(name, { signal, force: options.force ?? false, ...grace }),
    );
  });
}

function addStopOptions(command: Command): Command {
  command
    .option('-g, --grace <SECONDS>', 'between SIGTERM and SIGKILL; 0 kills at once (default: as the pod says)', parseSeconds)
    .option('-q, --quiet', 'do not print steps and calls');
  return addClientOptions(command);
}

function parseSeconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a number of seconds.');
  return Number(text);
}

async function allNames(options: StopOptions, context: CommandContext): Promise<string[]> {
  using session = openSession(options, context);
  return (await session.pods.list({ signal: session.signal })).map((status) => status.uid);
}

async function forEach(
  names: readonly string[],
  options: StopOptions,
  context: CommandContext,
  action: (session: Session, name: string, grace: { graceSeconds?: number }) => Promise<void>,
): Promise<void> {
  const printer = new StepPrinter((line) => void context.stdout.write(`${line}\n`));
  using session = openSession(options, context, options.quiet || options.output === 'json' ? {} : { onEvent: printer.handle });
  const grace = options.grace === undefined ? {} : { graceSeconds: options.grace };
  const results = await Promise.allSettled(names.map((name) => action(session, name, grace)));
  const failed = results.filter((result) => result.status === 'rejected').map((result) => result.reason as unknown);
  // One pod that cannot be stopped does not save the others; the last of several failures is the command's.
  for (const error of failed.slice(0, -1)) await write(context.stderr, `criquet: ${error instanceof Error ? error.message : String(error)}\n`);
  if (failed.length > 0) throw failed.at(-1);
}
