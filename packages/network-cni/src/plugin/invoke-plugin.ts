import type { Attachment } from '../attachment/attachment.js';
import { formatCniArgs } from '../attachment/cni-args.js';
import type { CniError } from '../cni-error.js';
import { isJsonObject, type JsonObject } from '../json/object-reader.js';
import { excerpt } from '../result/parse-result.js';
import type { Operation } from '../runtime/operation.js';
import { findPlugin } from './find-plugin.js';
import { PluginRunError, type PluginExit, type PluginRunner } from './plugin-runner.js';

/** How much of stderr goes into an error. */
const MAX_DETAIL_LENGTH = 1024;

/** Where and how plugins are run. */
export interface PluginHost {
  readonly binDirs: readonly string[];
  readonly runner: PluginRunner;
  readonly environment: Readonly<Record<string, string>>;
}

/** The attachment's part of the environment; operations without attachment have empty values, as with libcni. */
export type PluginParameters = Pick<Attachment, 'containerId' | 'netns' | 'ifName' | 'args'>;

export const NO_PARAMETERS: PluginParameters = { containerId: '', netns: '', ifName: '', args: [] };

/** Path of a plugin. Throws CniError `missing`. */
export async function locatePlugin(host: PluginHost, operation: Operation, type: string): Promise<string> {
  const find = host.runner.find?.bind(host.runner) ?? findPlugin;
  const path = await find(type, host.binDirs);
  if (path !== undefined) return path;
  const where = host.binDirs.length === 0 ? 'there is no bin directory' : `no such executable in ${host.binDirs.join(', ')}`;
  throw operation.error({ failure: 'missing', plugin: type, msg: where });
}

/** Runs a plugin once and resolves to its stdout (SPEC.md section 2). Rejects with CniError. */
export async function invokePlugin(
  host: PluginHost,
  operation: Operation,
  type: string,
  parameters: PluginParameters,
  config: JsonObject,
): Promise<string> {
  const path = await locatePlugin(host, operation, type);
  operation.proceed(type);
  let exit: PluginExit;
  try {
    exit = await host.runner.run({
      path,
      env: {
        ...host.environment,
        ...operation.environment,
        CNI_COMMAND: operation.command,
        CNI_CONTAINERID: parameters.containerId,
        CNI_NETNS: parameters.netns,
        CNI_IFNAME: parameters.ifName,
        CNI_ARGS: formatCniArgs(parameters.args),
        // delegated plugins are looked up by it
        CNI_PATH: host.binDirs.join(':'),
      },
      stdin: JSON.stringify(config),
      timeoutMs: operation.remainingMs(),
      ...(operation.signal && { signal: operation.signal }),
    });
  } catch (cause) {
    throw notRun(operation, type, cause);
  }
  if (exit.exitCode === 0) return exit.stdout;
  throw failed(operation, type, exit);
}

function notRun(operation: Operation, plugin: string, cause: unknown): CniError {
  if (!(cause instanceof PluginRunError)) throw cause;
  const { failure, message: msg, stderr } = cause;
  const kinds = { spawn: 'missing', timeout: 'timeout', aborted: 'aborted', 'output-limit': 'output' } as const;
  return operation.error({ failure: kinds[failure], plugin, msg, details: detail(stderr), cause });
}

/** A plugin should print an error object (section 5, "Error"); many that die do not. */
function failed(operation: Operation, plugin: string, exit: PluginExit): CniError {
  if (exit.signal !== null) {
    return operation.error({ failure: 'signal', plugin, msg: `killed by ${exit.signal}`, details: detail(exit.stderr) });
  }
  const reported = parseError(exit.stdout);
  if (reported !== undefined) return operation.error({ failure: 'plugin', plugin, ...reported });
  const msg = `exit code ${exit.exitCode ?? 'unknown'}${exit.stdout.trim() === '' ? '' : `, and no error object but ${excerpt(exit.stdout)}`}`;
  return operation.error({ failure: 'exit', plugin, msg, details: detail(exit.stderr) });
}

function parseError(stdout: string): { code: number; msg: string; details: string } | undefined {
  try {
    const value: unknown = JSON.parse(stdout);
    if (!isJsonObject(value)) return undefined;
    const { code, msg, details } = value;
    if (typeof code !== 'number' && typeof msg !== 'string') return undefined;
    return {
      code: typeof code === 'number' ? code : 0,
      msg: typeof msg === 'string' && msg !== '' ? msg : 'no message',
      details: typeof details === 'string' ? details : '',
    };
  } catch {
    return undefined;
  }
}

function detail(stderr: string): string {
  const text = stderr.trim();
  return text.length > MAX_DETAIL_LENGTH ? `…${text.slice(-MAX_DETAIL_LENGTH)}` : text;
}
