import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { CommandContext } from '../command-context.js';
import { CommandError, ExitCode } from '../exit-code.js';
import { IdleMemory } from './idle-memory.js';
import { createLogger } from './logger.js';
import { configOverrides, OVERRIDES, type ConfigFlags } from './overrides.js';
import { takePrecedence } from './precedence.js';

/** A daemon that was asked to stop must be gone by then. */
const STOP_LIMIT_MS = 5000;

/** Adds `--config` and the flags that override keys of the file. */
export function addConfigOptions(command: Command): Command {
  command.option('--config <FILE>', 'configuration file (default: /etc/criquet/config.toml, which may be absent)');
  for (const { flag, value, help } of Object.values(OVERRIDES)) {
    if (flag === OVERRIDES.cniBinDir.flag) command.option(`${flag} <${value}>`, help, collect);
    else command.option(`${flag} <${value}>`, help);
  }
  return command;
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** `criquet serve`: runs the daemon until SIGTERM or SIGINT. */
export function addServeCommand(program: Command, context: CommandContext): void {
  const command = program.command('serve').description('serve CRI: the daemon that a kubelet talks to');
  addConfigOptions(command).action((flags: ConfigFlags) => serve(flags, context));
}

async function serve(flags: ConfigFlags, context: CommandContext): Promise<void> {
  // Loaded here, so that client commands do not pay for the daemon's modules.
  const shimServer = await import('@criquet/shim-server');
  const start = context.startServer ?? shimServer.startShimServer;
  const { config, files } = await shimServer.loadConfig({
    ...(flags.config === undefined ? {} : { path: flags.config }),
    overrides: configOverrides(flags),
  });
  // What the modes of files come to must not depend on who starts the daemon.
  process.umask(0o022);
  const logger = await createLogger(config.logLevel, context.stdout);
  takePrecedence(logger);
  logger.info({ files, listen: config.listen, containerd: config.containerd.address }, 'criquet starts');
  const server = await start({ config, logger }).catch((error: unknown) => {
    logger.fatal({ err: error }, 'criquet cannot start');
    throw new CommandError(error instanceof Error ? error.message : String(error), ExitCode.failed, { cause: error });
  });
  const idleMemory = new IdleMemory(logger);
  await aborted(context.signal);
  idleMemory.stop();
  await stop(server, logger);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function stop(server: { stop(): Promise<void> }, logger: Logger): Promise<void> {
  logger.info('criquet stops; containers go on');
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), STOP_LIMIT_MS)));
  const outcome = await Promise.race([server.stop(), limit]);
  clearTimeout(timer);
  if (outcome === 'late') logger.warn({ limitMs: STOP_LIMIT_MS }, 'not everything was finished in time');
  else logger.info('criquet has stopped');
}
