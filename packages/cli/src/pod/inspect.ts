import type { Command } from 'commander';
import { write, type CommandContext } from '../command-context.js';
import { formatValue } from '../output/format.js';
import { addClientOptions, openSession, POD_ARGUMENT, type ClientOptions } from './client-options.js';
import { podSummary } from './pod-summary.js';

/** `criquet pod inspect POD`. */
export function addInspectCommand(pod: Command, context: CommandContext): void {
  const command = pod
    .command('inspect')
    .description('print everything that is known of a pod, as JSON unless --output says otherwise')
    .argument('<POD>', POD_ARGUMENT);
  addClientOptions(command).action(async (name: string, _options: object, self: Command) => {
    const options = self.optsWithGlobals<ClientOptions>();
    using session = openSession(options, context);
    const status = await session.pods.podStatus(name, { signal: session.signal });
    const output = options.output ?? 'json';
    await write(context.stdout, output === 'table' ? podSummary(status).trimStart() : formatValue(status, output));
  });
}
