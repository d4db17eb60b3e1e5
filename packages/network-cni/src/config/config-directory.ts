import { EventEmitter } from 'node:events';
import type { CniConfigError, NetworkConfigList } from './network-config.js';

export interface ConfigDirectoryOptions {
  /** Absolute path; need not exist. */
  readonly dir: string;
  /** How many lists to load at most, in file name order; 0 is no limit. Default 1, as containerd's max_conf_num. */
  readonly maxLists?: number;
  /** Milliseconds between two looks. Default 500. */
  readonly intervalMs?: number;
}

/** `list` is the first of `lists`, the pod's default network. */
export type ConfigState =
  | { readonly list: NetworkConfigList; readonly lists: readonly NetworkConfigList[]; readonly error?: undefined }
  | { readonly error: CniConfigError; readonly list?: undefined; readonly lists?: undefined };

export class ConfigDirectory extends EventEmitter<{ change: [ConfigState] }> {
  constructor(readonly options: ConfigDirectoryOptions) {
    super();
  }
  /** Resolves after the first look, whatever it found; never rejects. */
  start(): Promise<void> {
    throw new Error('to follow');
  }
  close(): Promise<void> {
    throw new Error('to follow');
  }
  current(): ConfigState {
    throw new Error('to follow');
  }
  /** Looks now instead of at the next interval. */
  refresh(): Promise<ConfigState> {
    throw new Error('to follow');
  }
}
