import type { Command } from 'commander';
import { write, type CommandContext } from './command-context.js';
import { formatValue } from './output/format.js';
import { OWN_VERSION } from './own-version.js';
import { addClientOptions, type ClientOptions } from './pod/client-options.js';

/** `criquet version`: the command's own and, for a given endpoint, the runtime's. */
export function addVersionCommand(program: Command, context: CommandContext): void {
  const command = program.command('version').description('print the version; with an endpoint also the runtime behind it');
  addClientOptions(command).action(async (options: ClientOptions) => {
    const own = { criquet: OWN_VERSION, node: process.version };
    const endpoint = options.runtimeEndpoint ?? context.env.CONTAINER_RUNTIME_ENDPOINT;
    const runtime = endpoint === undefined ? undefined : await runtimeVersion(endpoint, options, context);
    const version = { ...own, ...(runtime === undefined ? {} : { runtime }) };
    if (options.output === 'json' || options.output === 'yaml') return write(context.stdout, formatValue(version, options.output));
    const lines = [`criquet ${own.criquet} (Node.js ${own.node})`];
    if (runtime !== undefined) lines.push(`runtime ${runtime.name} ${runtime.version}, CRI ${runtime.apiVersion}`);
    await write(context.stdout, `${lines.join('\n')}\n`);
  });
}

async function runtimeVersion(endpoint: string, options: ClientOptions, context: CommandContext) {
  using cri = context.connect({ endpoint });
  const reply = await cri.runtime.version({}, { timeoutMs: options.timeout ?? 10_000, signal: context.signal });
  return { name: reply.runtimeName, version: reply.runtimeVersion, apiVersion: reply.runtimeApiVersion };
}
