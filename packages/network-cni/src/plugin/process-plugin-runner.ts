import type { PluginExit, PluginRequest, PluginRunner } from './plugin-runner.js';

export class ProcessPluginRunner implements PluginRunner {
  run(_request: PluginRequest): Promise<PluginExit> {
    throw new Error('to follow');
  }
}
