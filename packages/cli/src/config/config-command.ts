import type { Command } from 'commander';
import { write, type CommandContext } from '../command-context.js';
import { addConfigOptions } from '../serve/serve-command.js';
import { configOverrides, type ConfigFlags } from '../serve/overrides.js';

/** `criquet config default|dump|check`. */
export function addConfigCommand(program: Command, context: CommandContext): void {
  const config = program.command('config').description("the daemon's configuration");

  config
    .command('default')
    .description('print the default configuration with a comment for every key')
    .action(async () => {
      const { renderDefaultConfig } = await import('@criquet/shim-server');
      await write(context.stdout, renderDefaultConfig());
    });

  addConfigOptions(config.command('dump').description('print the configuration that serve would use')).action(
    async (flags: ConfigFlags) => {
      const { renderConfig } = await import('@criquet/shim-server');
      const { config: loaded, files } = await load(flags);
      await write(context.stdout, `${files.map((file) => `# from ${file}\n`).join('')}${renderConfig(loaded)}`);
    },
  );

  addConfigOptions(config.command('check').description('check the configuration; exits with 2 when something is wrong')).action(
    async (flags: ConfigFlags) => {
      const { checkConfig } = await import('@criquet/shim-server');
      const loaded = await load(flags);
      await checkConfig(loaded);
      const { files } = loaded;
      await write(context.stdout, files.length === 0 ? 'no configuration file: defaults\n' : files.map((file) => `${file}: ok\n`).join(''));
    },
  );
}

async function load(flags: ConfigFlags) {
  const { loadConfig } = await import('@criquet/shim-server');
  return loadConfig({ ...(flags.config === undefined ? {} : { path: flags.config }), overrides: configOverrides(flags) });
}
