import type { CniCommand } from '../cni-error.js';
import type { JsonObject } from '../config/network-config.js';
import type { PluginExit, PluginRequest, PluginRunner } from '../plugin/plugin-runner.js';

/** One recorded call of a fake plugin. */
export interface FakePluginCall {
  readonly plugin: string;
  readonly command: CniCommand;
  readonly containerId: string;
  readonly netns: string;
  readonly ifName: string;
  /** CNI_ARGS. */
  readonly args: string;
  readonly config: JsonObject;
  readonly env: Readonly<Record<string, string>>;
}

/** What a fake plugin does: an object is printed with code 0; `undefined` prints nothing; a PluginExit is taken as it is. */
export type FakePlugin = (call: FakePluginCall, request: PluginRequest) => unknown | Promise<unknown>;

export class FakePluginRunner implements PluginRunner {
  readonly calls: FakePluginCall[] = [];
  constructor(readonly plugins: Readonly<Record<string, FakePlugin>> = {}) {}
  run(_request: PluginRequest): Promise<PluginExit> {
    throw new Error('to follow');
  }
}
