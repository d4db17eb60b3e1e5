import type { Command } from 'commander';
import { write, type CommandContext } from '../command-context.js';
import { formatAge } from '../duration.js';
import { formatValue } from '../output/format.js';
import { formatTable } from '../output/table.js';
import { addClientOptions, openSession, type ClientOptions } from './client-options.js';
import { readyCount, restarts, statusWord } from './pod-summary.js';

/** As many digits of an id as crictl shows. */
const SHORT_ID = 13;

interface PsOptions extends ClientOptions {
  readonly namespace?: string;
  readonly quiet?: boolean;
}

/** `criquet pod ps`. */
export function addPsCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('ps')
    .description('list pods, whoever made them')
    .option('-n, --namespace <NAME>', 'only pods of this Kubernetes namespace')
    .option('-q, --quiet', 'print NAMESPACE/NAME only');
  addClientOptions(command).action((_options: object, self: Command) => ps(self.optsWithGlobals<PsOptions>(), context));
}

async function ps(options: PsOptions, context: CommandContext): Promise<void> {
  using session = openSession(options, context);
  const all = await session.pods.list({ signal: session.signal });
  const pods = options.namespace === undefined ? all : all.filter((status) => status.namespace === options.namespace);
  if (options.output === 'json' || options.output === 'yaml') return write(context.stdout, formatValue(pods, options.output));
  if (options.quiet) return write(context.stdout, pods.map((status) => `${status.namespace}/${status.name}\n`).join(''));
  const rows = pods.map((status) => [
    status.namespace,
    status.name,
    readyCount(status),
    statusWord(status),
    String(restarts(status)),
    status.ips[0] ?? '-',
    status.sandbox === undefined ? '-' : formatAge(status.sandbox.createdAt),
    status.sandbox?.id.slice(0, SHORT_ID) ?? '-',
  ]);
  await write(context.stdout, formatTable(['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'IP', 'AGE', 'SANDBOX'], rows));
}
