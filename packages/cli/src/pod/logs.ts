import { InvalidArgumentError, type Command } from 'commander';
import type { LogRecord, PodSync } from '@criquet/pod-sync';
import { write, type CommandContext } from '../command-context.js';
import { addClientOptions, openSession, POD_ARGUMENT, type ClientOptions } from './client-options.js';

interface LogsOptions extends ClientOptions {
  readonly container?: string;
  readonly allContainers?: boolean;
  readonly follow?: boolean;
  readonly tail?: number;
  readonly timestamps?: boolean;
}

/** `criquet pod logs POD`. */
export function addLogsCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('logs')
    .description("print a container's log; standard output and error go where they came from")
    .argument('<POD>', POD_ARGUMENT)
    .option('-c, --container <NAME>', "default: the pod's first container")
    .option('--all-containers', 'of every container, each line after its name')
    .option('-f, --follow', 'go on until the container has ended')
    .option('--tail <LINES>', 'begin with the last so many lines', parseCount)
    .option('--timestamps', 'print the time of each line');
  addClientOptions(command).action((name: string, _options: object, self: Command) => logs(name, self.optsWithGlobals<LogsOptions>(), context));
}

function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a number of lines.');
  return Number(text);
}

async function logs(name: string, options: LogsOptions, context: CommandContext): Promise<void> {
  using session = openSession(options, context, { defaultTimeoutMs: 0 });
  const { pods, signal } = session;
  // Awaited here: the session ends with this function.
  if (!options.allContainers) return await print(pods, name, options.container, '', options, signal, context);
  const { containers } = await pods.podStatus(name, { signal });
  const written = containers.filter((container) => container.logPath !== undefined);
  const printOne = (container: string) => print(pods, name, container, `[${container}] `, options, signal, context);
  // Followed logs run beside one another; others one after the other, so that each stays together.
  if (options.follow) await Promise.all(written.map((container) => printOne(container.name)));
  else for (const container of written) await printOne(container.name);
}

async function print(
  pods: PodSync,
  name: string,
  container: string | undefined,
  prefix: string,
  options: LogsOptions,
  signal: AbortSignal,
  context: CommandContext,
): Promise<void> {
  const records = pods.logs(name, {
    signal,
    ...(container === undefined ? {} : { container }),
    ...(options.tail === undefined ? {} : { tail: options.tail }),
    ...(options.follow === undefined ? {} : { follow: options.follow }),
  });
  const atLineStart = { stdout: true, stderr: true };
  for await (const record of records) {
    const start = atLineStart[record.stream] ? `${prefix}${options.timestamps ? `${record.time} ` : ''}` : '';
    atLineStart[record.stream] = !record.partial;
    await write(streamOf(record, context), start === '' ? record.content : Buffer.concat([Buffer.from(start), record.content]));
  }
}

function streamOf(record: LogRecord, context: CommandContext) {
  return record.stream === 'stderr' ? context.stderr : context.stdout;
}
