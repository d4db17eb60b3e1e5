/** The operations of the CNI protocol (SPEC.md section 2, "CNI operations"). */
export type CniCommand = 'ADD' | 'DEL' | 'CHECK' | 'GC' | 'STATUS' | 'VERSION';

/** Well-known codes of a plugin's error object (SPEC.md section 5, "Error"); 100 and above belong to the plugins. */
export const CniErrorCode = {
  /** The plugin gave no code, or never got so far as to give one. */
  None: 0,
  IncompatibleVersion: 1,
  UnsupportedField: 2,
  /** The plugin does not know the container: no DEL is needed after it. */
  UnknownContainer: 3,
  InvalidEnvironment: 4,
  IoFailure: 5,
  DecodingFailure: 6,
  InvalidNetworkConfig: 7,
  TryAgainLater: 11,
  /** STATUS: cannot service ADD. */
  PluginNotAvailable: 50,
  /** STATUS: cannot service ADD, and containers already attached may have limited connectivity. */
  LimitedConnectivity: 51,
} as const;

/**
 * Why an operation failed.
 * - `plugin`: the plugin ran and reported an error object
 * - `exit`: the plugin left with a code other than 0 and no readable error object
 * - `signal`: the plugin was killed by a signal that this package did not send
 * - `output`: the plugin said success but what it printed is no valid answer, or too long
 * - `missing`: no such executable in the bin directories, or it cannot be executed
 * - `timeout`, `aborted`: the deadline passed or the caller's signal fired; the plugin's process group is dead
 * - `input`: the request itself is invalid (names, versions); no plugin ran
 * - `storage`: the cache file could not be written
 */
export type CniFailure = 'plugin' | 'exit' | 'signal' | 'output' | 'missing' | 'timeout' | 'aborted' | 'input' | 'storage';

export interface CniErrorFields {
  readonly failure: CniFailure;
  readonly command: CniCommand;
  /** The plugin's `type`; empty when no single plugin is at fault. */
  readonly plugin: string;
  /** Network name; empty where the operation has none (VERSION). */
  readonly network?: string;
  readonly code?: number;
  readonly msg: string;
  readonly details?: string;
  readonly cause?: unknown;
}

/** The one error type of plugin operations. */
export class CniError extends Error {
  override readonly name = 'CniError';
  readonly failure: CniFailure;
  readonly command: CniCommand;
  readonly plugin: string;
  readonly network: string;
  /** A code of SPEC.md section 5; 0 when none was given. */
  readonly code: number;
  /** The plugin's `msg`, or this package's own words. */
  readonly msg: string;
  /** The plugin's `details`, or the end of what it wrote to stderr; may be empty. */
  readonly details: string;

  constructor(fields: CniErrorFields) {
    const { failure, command, plugin, network = '', code = CniErrorCode.None, msg, details = '', cause } = fields;
    const where = ['CNI', command, network && `network ${network}`, plugin && `plugin ${plugin}`].filter((part) => part !== '');
    const what = `${msg}${details === '' ? '' : `; ${details}`}${code === CniErrorCode.None ? '' : ` (code ${code})`}`;
    super(`${where.join(' ')}: ${what}`, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.command = command;
    this.plugin = plugin;
    this.network = network;
    this.code = code;
    this.msg = msg;
    this.details = details;
  }
}
