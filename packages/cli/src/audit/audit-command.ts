import type { AuditedHolding, NodeAudit } from '@criquet/shim-server';
import type { Command } from 'commander';
import { write, type CommandContext } from '../command-context.js';
import { CommandError, ExitCode } from '../exit-code.js';
import { formatValue } from '../output/format.js';
import { formatTable } from '../output/table.js';
import { configOverrides, type ConfigFlags } from '../serve/overrides.js';
import { addConfigOptions } from '../serve/serve-command.js';

interface AuditFlags extends ConfigFlags {
  readonly clean?: boolean;
  readonly newContainerd?: boolean;
  readonly json?: boolean;
  readonly orphans?: boolean;
}

const NOTES = `
Looks at everything on this node that belongs to the criquet of the configuration, whether its daemon runs or not, and says what
belongs to no sandbox, container or daemon any more ("orphan"). Run it where the daemon runs, with the same configuration
and flags.

Exit codes: 0 nothing is without an owner, or all of that was removed; 1 something could not be looked at; 2 wrong usage or
configuration; 6 something is without an owner.`;

/** `criquet audit`. */
export function addAuditCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('audit')
    .description('list what criquet has on this node and what of it has no owner')
    .option('--clean', 'remove what has no owner; what cannot be removed is told and keeps nothing else')
    .option('--new-containerd', 'with --clean: what belongs to a containerd that is gone for good goes too')
    .option('--orphans', 'list only what has no owner')
    .option('--json', 'print JSON')
    .addHelpText('after', NOTES);
  addConfigOptions(command).action((flags: AuditFlags) => audit(flags, context));
}

async function audit(flags: AuditFlags, context: CommandContext): Promise<void> {
  // Loaded here, so that client commands do not pay for the daemon's modules.
  const shimServer = await import('@criquet/shim-server');
  const auditNode = context.auditNode ?? shimServer.auditNode;
  const { config } = await shimServer.loadConfig({
    ...(flags.config === undefined ? {} : { path: flags.config }),
    overrides: configOverrides(flags),
  });
  const report = await auditNode({ config, clean: flags.clean ?? false, newContainerd: flags.newContainerd ?? false, signal: context.signal });
  const listed = flags.orphans === true ? report.holdings.filter(({ state }) => state !== 'owned') : report.holdings;
  await write(context.stdout, flags.json === true ? json(report, listed) : table(report, listed));
  conclude(report);
}

/** The shape that README.md of this package documents. */
function json({ daemonPid, anotherContainerd = false, problems, holdings }: NodeAudit, listed: readonly AuditedHolding[]): string {
  const count = (wanted: AuditedHolding['state']) => holdings.filter(({ state }) => state === wanted).length;
  const counts = { owned: count('owned'), orphan: count('orphan'), cleaned: count('cleaned'), failed: count('failed') };
  return formatValue({ version: 1, daemonPid: daemonPid ?? null, anotherContainerd, counts, holdings: listed, problems }, 'json');
}

function table({ problems, holdings, anotherContainerd = false }: NodeAudit, listed: readonly AuditedHolding[]): string {
  const rows = listed.map(({ kind, name, owner, state, error }) => [kind, name, owner, error === undefined ? state : `${state}: ${error}`]);
  const count = (...states: AuditedHolding['state'][]) => holdings.filter(({ state }) => states.includes(state)).length;
  const cleaned = count('cleaned');
  return [
    rows.length === 0 ? '' : formatTable(['KIND', 'NAME', 'OWNER', 'STATE'], rows),
    ...problems.map(({ kind, error }) => `cannot look at ${kind}: ${error}\n`),
    anotherContainerd ? 'the records are in another containerd than this one, by which nothing has an owner\n' : '',
    `${holdings.length} things of criquet, ${count('orphan', 'failed')} without an owner${cleaned > 0 ? `, ${cleaned} removed` : ''}\n`,
  ].join('');
}

/** @throws CommandError with the exit code */
function conclude({ holdings, problems }: NodeAudit): void {
  if (problems.length > 0) throw new CommandError(`could not look at ${[...new Set(problems.map(({ kind }) => kind))].join(', ')}`, ExitCode.failed);
  const left = holdings.filter(({ state }) => state === 'orphan' || state === 'failed').length;
  if (left > 0) throw new CommandError(`${left} without an owner`, ExitCode.orphans);
}
