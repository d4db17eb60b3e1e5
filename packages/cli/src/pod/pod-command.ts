import type { Command } from 'commander';
import type { CommandContext } from '../command-context.js';
import { addClientOptions } from './client-options.js';
import { addExecCommand } from './exec.js';
import { addInspectCommand } from './inspect.js';
import { addLogsCommand } from './logs.js';
import { addPsCommand } from './ps.js';
import { addRunCommand } from './run.js';
import { addRmCommand, addStopCommand } from './stop.js';

/** `criquet pod`: pods from manifests on any CRI endpoint. */
export function addPodCommand(program: Command, context: CommandContext): void {
  const pod = program.command('pod').description('pods from manifests, on any CRI endpoint').enablePositionalOptions();
  addClientOptions(pod);
  addRunCommand(pod, context);
  addPsCommand(pod, context);
  addLogsCommand(pod, context);
  addExecCommand(pod, context);
  addInspectCommand(pod, context);
  addStopCommand(pod, context);
  addRmCommand(pod, context);
}
