import { basename, join } from 'node:path';
import type { CniCommand } from '../cni-error.js';
import { isJsonObject, type JsonObject } from '../json/object-reader.js';
import { PluginRunError, type PluginExit, type PluginRequest, type PluginRunner } from '../plugin/plugin-runner.js';

/** One call of a fake plugin, as the plugin would have seen it. */
export interface FakePluginCall {
  readonly plugin: string;
  readonly command: CniCommand;
  readonly containerId: string;
  readonly netns: string;
  readonly ifName: string;
  /** CNI_ARGS. */
  readonly args: string;
  /** What came on stdin. */
  readonly config: JsonObject;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * What a fake plugin does on a call. An object is printed as JSON with exit code 0, `undefined` prints nothing with exit code 0,
 * `exited(...)` ends it in any other way, and what it throws the runner rejects with. While it waits it is stopped as a process
 * would be, at the deadline and on abort.
 */
export type FakePlugin = (call: FakePluginCall) => unknown;

class FakeExit implements PluginExit {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;

  constructor(exit: Partial<PluginExit>) {
    this.stdout = exit.stdout ?? '';
    this.stderr = exit.stderr ?? '';
    this.signal = exit.signal ?? null;
    const { exitCode = 0 } = exit;
    this.exitCode = this.signal === null ? exitCode : null;
  }
}

/** An end of a fake plugin in all its parts. */
export function exited(exit: Partial<PluginExit>): PluginExit {
  return new FakeExit(exit);
}

/** A plugin's error object (SPEC.md section 5), with exit code 1. */
export function failedWith(code: number, msg: string, details = ''): PluginExit {
  return exited({ exitCode: 1, stdout: JSON.stringify({ cniVersion: '1.1.0', code, msg, ...(details !== '' && { details }) }) });
}

/** A plugin that attaches with the given addresses to `CNI_IFNAME`, and accepts every other command. */
export function attaching(...addresses: readonly string[]): FakePlugin {
  return ({ command, config, ifName, netns }) => {
    if (command !== 'ADD') return undefined;
    return {
      cniVersion: config['cniVersion'],
      interfaces: [{ name: ifName, sandbox: netns }],
      ips: addresses.map((address) => ({ address, interface: 0, version: address.includes(':') ? '6' : '4' })),
    };
  };
}

/** Prints the previous result, as a chained plugin does. */
export const passing: FakePlugin = ({ command, config }) => (command === 'ADD' ? config['prevResult'] : undefined);

/** Runs no process: plugins are functions by name, and every call is recorded. The plugins of the table are the ones that exist. */
export class FakePluginRunner implements PluginRunner {
  /** In the order in which they began. */
  readonly calls: FakePluginCall[] = [];
  readonly plugins: Map<string, FakePlugin>;

  constructor(plugins: Readonly<Record<string, FakePlugin>> = {}) {
    this.plugins = new Map(Object.entries(plugins));
  }

  find(type: string, binDirs: readonly string[]): Promise<string | undefined> {
    return Promise.resolve(this.plugins.has(type) ? join(binDirs[0] ?? '/fake', type) : undefined);
  }

  async run(request: PluginRequest): Promise<PluginExit> {
    const call = callOf(request);
    this.calls.push(call);
    const plugin = this.plugins.get(call.plugin);
    if (plugin === undefined) throw new PluginRunError('spawn', `cannot start ${request.path}: ENOENT`);
    const answer = await stoppable(request, async () => plugin(call));
    if (answer instanceof FakeExit) return answer;
    return new FakeExit({ stdout: answer === undefined ? '' : JSON.stringify(answer) });
  }

  /** Calls as `plugin COMMAND`, for an assertion on their order. */
  order(): string[] {
    return this.calls.map(({ plugin, command }) => `${plugin} ${command}`);
  }
}

function callOf({ path, env, stdin }: PluginRequest): FakePluginCall {
  const config: unknown = JSON.parse(stdin);
  return {
    plugin: basename(path),
    command: env['CNI_COMMAND'] as CniCommand,
    containerId: env['CNI_CONTAINERID'] ?? '',
    netns: env['CNI_NETNS'] ?? '',
    ifName: env['CNI_IFNAME'] ?? '',
    args: env['CNI_ARGS'] ?? '',
    config: isJsonObject(config) ? config : {},
    env,
  };
}

async function stoppable<T>({ signal, timeoutMs }: PluginRequest, work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PluginRunError('timeout', `killed after ${Math.round(timeoutMs)} ms`)), timeoutMs);
    onAbort = () => reject(new PluginRunError('aborted', 'stopped by its caller'));
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work(), stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
