import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { formatProblem, parseManifest, SyncError, type ParsedManifest, type PodStatus } from '@criquet/pod-sync';
import { write, type CommandContext } from '../command-context.js';
import { CommandError, ExitCode } from '../exit-code.js';
import { formatValue } from '../output/format.js';
import { addClientOptions, openSession, type ClientOptions } from './client-options.js';
import { podSummary } from './pod-summary.js';
import { StepPrinter } from './step-printer.js';

const UNREADABLE: Readonly<Record<string, string>> = { ENOENT: 'there is no such file', EISDIR: 'is a directory; give the file of one pod' };

const RUN_TIMEOUT_MS = 300_000;

interface RunOptions extends ClientOptions {
  readonly keep?: boolean;
  readonly retry?: boolean;
  readonly quiet?: boolean;
}

/** `criquet pod run FILE`. */
export function addRunCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('run')
    .description('bring the pod of a manifest into being and wait until it runs')
    .argument('<FILE>', 'manifest in YAML or JSON: a Pod, and ConfigMaps and Secrets for it; "-" reads standard input')
    .option('--keep', 'go on restarting containers by the restart policy until the pod has ended or Ctrl-C')
    .option('--retry', 'try again when a call fails, with growing pauses, instead of ending with exit code 1')
    .option('-q, --quiet', 'do not print steps and calls');
  addClientOptions(command).action((file: string, _options: object, self: Command) => run(file, self.optsWithGlobals<RunOptions>(), context));
}

async function run(file: string, options: RunOptions, context: CommandContext): Promise<void> {
  const { manifest, warnings } = await readManifest(file, context);
  for (const warning of warnings) await write(context.stderr, `warning: ${formatProblem(file, warning)}\n`);
  const output = options.output ?? 'table';
  // With a machine-readable result on standard output the steps go beside it.
  const stepStream = output === 'table' ? context.stdout : context.stderr;
  const printer = new StepPrinter((line) => void stepStream.write(`${line}\n`));
  using session = openSession(options, context, {
    defaultTimeoutMs: options.keep ? 0 : RUN_TIMEOUT_MS,
    ...(options.quiet ? {} : { onEvent: printer.handle }),
  });
  const { signal, pods } = session;
  const status = await pods.waitRunning(manifest, { signal, failFast: options.retry !== true }).catch(async (error: unknown) => {
    throw await explain(error, () => pods.statusOf(manifest));
  });
  await write(context.stdout, output === 'table' ? podSummary(status) : formatValue(status, output));
  const end = options.keep ? await pods.keep(manifest, { signal }) : status;
  if (end.phase === 'Failed') throw new CommandError(`pod ${end.namespace}/${end.name} failed: ${failedContainers(end)}`, ExitCode.podFailed);
}

async function readManifest(file: string, context: CommandContext): Promise<ParsedManifest> {
  const name = file === '-' ? 'standard input' : file;
  const text = await (file === '-' ? context.readStdin() : readFile(file, 'utf8')).catch((error: NodeJS.ErrnoException) => {
    const reason = (error.code !== undefined && UNREADABLE[error.code]) || `cannot be read: ${error.message}`;
    throw new CommandError(`${name}: ${reason}`, ExitCode.usage, { cause: error });
  });
  return parseManifest(text, name);
}

/** Says to a timeout what the pod was waiting for. */
async function explain(error: unknown, readStatus: () => Promise<PodStatus>): Promise<unknown> {
  if (!(error instanceof Error) || error.name !== 'TimeoutError' || error instanceof SyncError) return error;
  const status = await readStatus().catch(() => undefined);
  const waiting = status?.containers.filter((container) => container.kind !== 'init' && container.state !== 'running') ?? [];
  const details = waiting.map((container) => `${container.name} is ${container.state}${container.reason === undefined ? '' : ` (${container.reason})`}`);
  const message = ['the pod did not run in time', ...(status === undefined ? [] : [`phase ${status.phase}`]), ...details].join('; ');
  return new CommandError(message, ExitCode.timedOut, { cause: error });
}

function failedContainers(status: PodStatus): string {
  const failed = status.containers.filter((container) => container.state === 'terminated' && container.exitCode !== 0);
  return failed
    .map(({ name, exitCode, reason, message }) => `${name} ended with ${exitCode}${reason === undefined ? '' : ` (${reason})`}${message === undefined ? '' : `: ${message.trim()}`}`)
    .join('; ');
}
